// What an operator may write in app.yaml: read, checked, completed, compared, shown.
#include <string>
#include <vector>

#include "cli/yaml/proto_to_text.h"
#include "cli/yaml/yaml_to_proto.h"
#include "model/layout.h"
#include "model/spec/spec_validation.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager {
namespace {

std::vector<std::string> PathsOf(const std::vector<SpecProblem>& problems) {
  std::vector<std::string> paths;
  for (const SpecProblem& problem : problems) {
    SM_CHECK(problem.ToString().find('\n') == std::string::npos, "one problem, one line");
    paths.push_back(problem.path);
  }
  return paths;
}

void CheckValid(const v1::AppSpec& spec) {
  const v1::AppSpec whole = WithDefaults(spec);
  SM_CHECK(ValidateSpec(whole).empty(), "the defaults are valid");
  SM_CHECK(!ExpandLayout(whole).empty(), "a valid spec has shards");
  SM_CHECK(CompareSpecs(spec, whole).differences.empty(), "defaults are no difference");
  // What is shown can be applied again.
  const auto again = cli::ReadYaml(cli::ToYaml(spec), "again", v1::AppSpec());
  SM_CHECK(again.ok() && again->size() == 1, "what is shown can be read");
  const auto& read = static_cast<const v1::AppSpec&>(*again->front().message);
  SM_CHECK(CompareSpecs(spec, read).differences.empty(), "what is shown is what was meant");
}

}  // namespace

SM_FUZZ_TARGET(spec_yaml) {
  const std::string text(input.Rest());
  auto documents = cli::ReadYaml(text, "app.yaml", v1::AppSpec());
  if (!documents.ok()) {
    SM_CHECK(!documents.status().message().empty(), "an error says what is wrong");
    return;
  }
  const v1::AppSpec* before = nullptr;
  for (const cli::YamlDocument& document : *documents) {
    const auto& spec = static_cast<const v1::AppSpec&>(*document.message);
    const std::vector<SpecProblem> problems = ValidateSpec(spec);
    const std::vector<std::string> paths = PathsOf(problems);
    SM_CHECK(cli::LocateFields(text, "app.yaml", v1::AppSpec(), document.index, paths).size() ==
                 paths.size(),
             "every problem has its place");
    if (!problems.empty()) continue;
    CheckValid(spec);
    if (before != nullptr && before->name() == spec.name()) CompareSpecs(*before, spec);
    before = &spec;
  }
}

}  // namespace shardmanager
