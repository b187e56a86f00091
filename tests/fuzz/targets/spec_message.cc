// A spec as it comes over the wire: also what no YAML can say, such as fields of a newer
// version and any bytes in strings.
#include <string>

#include "cli/yaml/proto_to_text.h"
#include "model/layout.h"
#include "model/spec/spec_validation.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager {

SM_FUZZ_TARGET(spec_message) {
  v1::AppSpec before;
  v1::AppSpec after;
  if (!before.ParseFromString(input.Text(4'096))) return;
  const bool valid = ValidateSpec(before).empty();
  cli::ToYaml(before);
  cli::ToJson(before);
  if (!valid) return;
  SM_CHECK(!ExpandLayout(WithDefaults(before)).empty(), "a valid spec has shards");
  if (!after.ParseFromString(std::string(input.Rest()))) return;
  after.set_name(before.name());
  if (!ValidateSpec(after).empty()) return;
  const bool same = CompareSpecs(before, after).differences.empty();
  SM_CHECK(same == CompareSpecs(after, before).differences.empty(), "difference has no direction");
}

}  // namespace shardmanager
