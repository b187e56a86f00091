// `shardctl place problem.yaml`.
#include <string>

#include "cli/yaml/yaml_to_proto.h"
#include "tests/fuzz/placement_check.h"

namespace shardmanager {

SM_FUZZ_TARGET(placement_yaml) {
  const auto read =
      cli::ReadYaml(std::string(input.Rest()), "problem.yaml", v1::PlacementProblem());
  if (!read.ok()) return;
  for (const cli::YamlDocument& document : *read) {
    fuzz::SolveAndCheck(static_cast<const v1::PlacementProblem&>(*document.message));
  }
}

}  // namespace shardmanager
