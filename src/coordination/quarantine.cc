#include "coordination/quarantine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace shardmanager {
namespace {

struct Copy {
  CoordinationStore* store;
  std::string folder;
  std::vector<WriteOp> checks;
  CreateNode node;
  std::function<void(absl::Status)> done;
};

void Write(Copy copy, bool with_folder) {
  std::vector<WriteOp> ops = copy.checks;
  const auto checks = static_cast<int>(ops.size());
  if (with_folder) ops.push_back(CreateNode{copy.folder, ""});
  ops.push_back(copy.node);
  CoordinationStore* store = copy.store;
  store->Multi(
      std::move(ops), [copy = std::move(copy), with_folder, checks](const WriteResult& result) {
        const bool folder_differs =
            result.failed_op == checks && (absl::IsNotFound(result.status) ||
                                           (with_folder && absl::IsAlreadyExists(result.status)));
        if (folder_differs) return Write(copy, !with_folder);
        const bool kept_before = absl::IsAlreadyExists(result.status);
        copy.done(kept_before ? absl::OkStatus() : result.status);
      });
}

}  // namespace

std::string QuarantinePath(const Paths& paths, const std::string& path, const NodeStat& stat) {
  std::string name = path.substr(paths.root().size() + 1);
  std::replace(name.begin(), name.end(), '/', ':');
  return absl::StrFormat("%s/%s@%d.%d", paths.quarantine(), name, stat.created_zxid, stat.version);
}

void KeepBytes(CoordinationStore& store, const Paths& paths, const std::string& path,
               const Node& node, std::vector<WriteOp> checks,
               std::function<void(absl::Status)> done) {
  Write({&store,
         paths.quarantine(),
         std::move(checks),
         {QuarantinePath(paths, path, node.stat), node.data},
         std::move(done)},
        /*with_folder=*/false);
}

}  // namespace shardmanager
