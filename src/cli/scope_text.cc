#include "cli/scope_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "model/text.h"

namespace shardmanager::cli {

absl::StatusOr<v1::DrainScope> ParseScope(const std::string& level, const std::string& name) {
  v1::DrainScope scope;
  if (level == "server") {
    scope.set_server(name);
    return scope;
  }
  const size_t parts = level == "region" ? 1 : level == "datacenter" ? 2 : 3;
  const std::vector<std::string> path = absl::StrSplit(name, '/');
  if (path.size() != parts) {
    const char* allowed = parts == 1   ? "REGION, as in eu-west"
                          : parts == 2 ? "REGION/DATACENTER, as in eu-west/dub1"
                                       : "REGION/DATACENTER/RACK, as in eu-west/dub1/r07";
    return absl::InvalidArgumentError(
        absl::StrCat(level, ": found ", Quoted(name), "; allowed: ", allowed));
  }
  scope.mutable_domain()->set_region(path[0]);
  if (parts > 1) scope.mutable_domain()->set_datacenter(path[1]);
  if (parts > 2) scope.mutable_domain()->set_rack(path[2]);
  return scope;
}

}  // namespace shardmanager::cli
