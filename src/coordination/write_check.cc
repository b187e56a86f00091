#include "coordination/write_check.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "coordination/access/store_access.h"

namespace shardmanager {
namespace {

// Of one entry of an access list: rights, scheme, lengths.
constexpr size_t kAccessEntryBytes = 4 + 4 + 6 + 4;

size_t DataBytes(const CheckVersion&) { return 0; }
size_t DataBytes(const CreateNode& op) {
  size_t bytes = op.data.size();
  for (const AccessEntry& entry : op.access) bytes += kAccessEntryBytes + entry.who.size();
  return bytes;
}
size_t DataBytes(const SetNode& op) { return op.data.size(); }
size_t DataBytes(const DeleteNode&) { return 0; }

}  // namespace

const std::string& PathOf(const WriteOp& op) {
  return std::visit([](const auto& o) -> const std::string& { return o.path; }, op);
}

size_t WriteBytes(const WriteOp& op) {
  const size_t data = std::visit([](const auto& o) { return DataBytes(o); }, op);
  return PathOf(op).size() + data + kWriteOpOverheadBytes;
}

size_t WriteBytes(const std::vector<WriteOp>& ops) {
  size_t bytes = 0;
  for (const WriteOp& op : ops) bytes += WriteBytes(op);
  return bytes;
}

absl::Status CheckWriteSize(const std::vector<WriteOp>& ops) {
  const size_t bytes = WriteBytes(ops);
  if (bytes <= kMaxWriteBytes) return absl::OkStatus();
  const auto largest = std::max_element(
      ops.begin(), ops.end(),
      [](const WriteOp& a, const WriteOp& b) { return WriteBytes(a) < WriteBytes(b); });
  return absl::ResourceExhaustedError(
      absl::StrFormat("write of %d ops takes %d bytes; at most %d are allowed (largest: %s, %d)",
                      ops.size(), bytes, kMaxWriteBytes, PathOf(*largest), WriteBytes(*largest)));
}

absl::Status CheckPath(const std::string& path) {
  const bool sound = path == "/" || (!path.empty() && path.front() == '/' && path.back() != '/' &&
                                     path.find("//") == std::string::npos);
  if (sound) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("malformed path '%s'", path));
}

WriteResult PrepareWrite(std::vector<WriteOp>& ops, const StoreAccess* access) {
  for (size_t i = 0; i < ops.size(); ++i) {
    absl::Status sound = CheckPath(PathOf(ops[i]));
    if (!sound.ok()) return {std::move(sound), static_cast<int>(i)};
    auto* create = std::get_if<CreateNode>(&ops[i]);
    if (create == nullptr || !create->access.empty()) continue;
    if (access != nullptr) create->access = access->OfNewNode(create->path);
  }
  return {CheckWriteSize(ops), -1};
}

std::string PartyName(const StoreAccess* access) {
  return access == nullptr ? "a process without ZooKeeper credentials" : access->party();
}

absl::Status NotAllowed(std::string_view what, std::string_view party) {
  return absl::PermissionDeniedError(absl::StrFormat("%s: not allowed to %s", what, party));
}

absl::Status NoEmptyAccess(std::string_view path) {
  return absl::InvalidArgumentError(
      absl::StrFormat("set access of %s: found no entry; allowed: one at least", path));
}

}  // namespace shardmanager
