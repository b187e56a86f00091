#include "orchestrator/shell/damaged_records.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "coordination/election.h"
#include "coordination/quarantine.h"

namespace shardmanager::orchestrator {
namespace {

// Enough to see what is wrong. Any server of the app may make such nodes, as many as it likes.
constexpr size_t kMostMisplaced = 100;

std::string NameOf(const DamagedRecord& record) {
  switch (record.kind) {
    case RecordKind::kSpec:
      return "the stored spec";
    case RecordKind::kRegistration:
      return absl::StrCat("the registration record of ", record.server);
    case RecordKind::kLive:
      return absl::StrCat("the live record of ", record.server);
    case RecordKind::kAssignment:
      return absl::StrCat("the assignment record of ", record.server);
  }
  return "a record";
}

// What holds while it lasts, and what an operator can do.
std::string Advice(const DamagedRecord& record, const std::string& app) {
  const std::string& server = record.server;
  switch (record.kind) {
    case RecordKind::kSpec:
      return absl::StrCat(
          "the app's servers serve on; what is managed goes by the last spec that was read, if "
          "any was; nothing is managed after a change of leader. ",
          record.newer() ? "Run that version"
                         : "`shardctl apply --force -f FILE` puts a spec in its place");
    case RecordKind::kRegistration:
      return absl::StrCat(server,
                          " counts as not stopped as planned; its next start writes a new one");
    case RecordKind::kLive:
      return absl::StrCat(
          server, " counts as alive, but cannot be reached; a restart of it writes a new one");
    case RecordKind::kAssignment:
      return absl::StrCat(
          "nothing is given to ", server, " or taken from it, and what it may hold waits. ",
          record.newer() ? "Run that version"
                         : absl::StrCat("Stop ", server, ", then `shardctl release server ", server,
                                        " --app ", app, "` frees it"));
  }
  return "";
}

std::string Sentence(const DamagedRecord& record, const std::string& app) {
  return absl::StrCat(NameOf(record), " cannot be read (", std::string(record.why.message()),
                      "): ", Advice(record, app), ". It is at ", record.path,
                      record.kept.ok()
                          ? absl::StrCat(", a copy at ", record.kept_at)
                          : absl::StrCat("; no copy yet: ", std::string(record.kept.message())));
}

bool SameState(const NodeStat& a, const NodeStat& b) {
  return a.version == b.version && a.created_zxid == b.created_zxid;
}

}  // namespace

void DamagedRecords::Add(RecordKind kind, const std::string& server, const std::string& path,
                         const Node& node, absl::Status why) {
  auto known = records_.find(path);
  if (known != records_.end() && SameState(known->second.node.stat, node.stat)) return;
  DamagedRecord& record = records_[path];
  record = {.kind = kind, .server = server, .path = path, .node = node, .why = std::move(why)};
  record.kept_at = QuarantinePath(options_.paths, path, node.stat);
  spdlog::error("app {}: {} at {} cannot be read: {}; its {} bytes are left as they are",
                options_.app.value(), NameOf(record), path, record.why.ToString(),
                node.data.size());
  v1::ControlEvent event;
  event.set_kind("RecordDamaged");
  event.set_app(options_.app.value());
  event.set_server(server);
  event.set_message(absl::StrCat(NameOf(record), " cannot be read (",
                                 std::string(record.why.message()),
                                 "): ", Advice(record, options_.app.value())));
  events_.Append(std::move(event));
  Keep(record);
}

void DamagedRecords::Misplaced(const std::string& path, const std::string& right) {
  if (misplaced_.size() >= kMostMisplaced && !misplaced_.contains(path)) return;
  if (!misplaced_.emplace(path, right).second) return;
  const std::string sentence = SentenceOfMisplaced(path, right);
  spdlog::error("app {}: {}", options_.app.value(), sentence);
  v1::ControlEvent event;
  event.set_kind("RecordMisplaced");
  event.set_app(options_.app.value());
  event.set_message(sentence);
  events_.Append(std::move(event));
}

std::string DamagedRecords::SentenceOfMisplaced(const std::string& path, const std::string& right) {
  if (right.empty())
    return absl::StrCat(path, " has a name that none of the app's servers gives; it is ignored");
  return absl::StrCat(path, " is ignored: its place is ", right,
                      ". The process that made it computes buckets in another way than "
                      "stored.proto says");
}

void DamagedRecords::Keep(const DamagedRecord& record) {
  std::vector<WriteOp> checks{LeaderFence(options_.paths, options_.leader_epoch)};
  KeepBytes(*options_.store, options_.paths, record.path, record.node, std::move(checks),
            [this, post = options_.post, path = record.path,
             kept_at = record.kept_at](absl::Status kept) {
              post([this, path, kept_at, kept] {
                auto found = records_.find(path);
                if (found == records_.end() || found->second.kept_at != kept_at) return;
                found->second.kept = kept;
              });
            });
}

void DamagedRecords::Relook() {
  for (const auto& [path, record] : records_) {
    options_.store->Get(path, [this, post = options_.post, path = path](auto node) {
      post([this, path, node = std::move(node)] { OnRead(path, node); });
    });
  }
  for (const auto& [path, right] : misplaced_) {
    options_.store->Get(path, [this, post = options_.post, path = path](auto node) {
      if (absl::IsNotFound(node.status())) post([this, path] { misplaced_.erase(path); });
    });
  }
}

void DamagedRecords::OnRead(const std::string& path, const absl::StatusOr<Node>& node) {
  auto found = records_.find(path);
  if (found == records_.end() || (!node.ok() && !absl::IsNotFound(node.status()))) return;
  if (node.ok() && SameState(node->stat, found->second.node.stat)) {
    if (!found->second.kept.ok()) Keep(found->second);
    return;
  }
  // A spec that changed is read by its own watch, which finds it here if it fails again.
  if (found->second.kind == RecordKind::kSpec && node.ok()) return;
  const DamagedRecord record = std::move(found->second);
  records_.erase(found);
  if (record.kind == RecordKind::kAssignment) changed_(record);
}

const DamagedRecord* DamagedRecords::Find(RecordKind kind, const std::string& server) const {
  for (const auto& [path, record] : records_) {
    if (record.kind == kind && record.server == server) return &record;
  }
  return nullptr;
}

std::vector<std::string> DamagedRecords::Describe() const {
  std::vector<std::string> lines;
  for (const auto& [path, record] : records_) {
    lines.push_back(Sentence(record, options_.app.value()));
  }
  for (const auto& [path, right] : misplaced_) lines.push_back(SentenceOfMisplaced(path, right));
  return lines;
}

}  // namespace shardmanager::orchestrator
