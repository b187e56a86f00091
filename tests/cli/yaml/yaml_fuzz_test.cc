// Broken texts must give errors, never a crash or an endless loop. Seeded: a failure
// comes again.
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "cli/yaml/proto_to_text.h"
#include "cli/yaml/yaml_to_proto.h"
#include "gtest/gtest.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager::cli {
namespace {

constexpr char kSeed[] = R"(# An app.
name: &a "kv"
key_space:
  shards:
    - {id: low, range: {end: 'm'}}
    - id: high
      range: {start: "m\x41\u00e9"}
replication: {strategy: primary-only, replicas: 1}
placement:
  regions: [eu-west, us-east]
  preferred_region: |
    eu-west
metrics: [ { ? name : cpu, threshold: .5 } ]
---
name: b
...
)";

// Pieces that mean something to YAML.
constexpr std::string_view kPieces[] = {
    "\n",   " ",       "  - ",   ": ",         "- ", "? ",          "[",
    "]",    "{",       "}",      ",",          "'",  "\"",          "|",
    ">",    "&x ",     "*x",     "!!str ",     "!<", "%YAML 1.2\n", "---",
    "...",  "#",       "\t",     "~",          "\\", "<<: ",        "\xef\xbb\xbf",
    "\xff", {"\0", 1}, "name: ", "key_space:", "@",  "`",           "\r"};

std::string Mutated(std::string text, Random& random) {
  const uint64_t changes = 1 + random.Below(4);
  for (uint64_t i = 0; i < changes; ++i) {
    const size_t at = random.Below(text.size() + 1);
    switch (random.Below(4)) {
      case 0:
        text.erase(at, random.Below(20));
        break;
      case 1:
        text.insert(at, kPieces[random.Below(std::size(kPieces))]);
        break;
      case 2:
        text.insert(at, text.substr(random.Below(text.size() + 1), random.Below(40)));
        break;
      case 3:
        text.resize(at);
        break;
    }
  }
  return text;
}

TEST(YamlFuzzTest, SurvivesBrokenTexts) {
  Random random(20260301);
  int good = 0;
  constexpr int kTexts = 5000;
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = Mutated(kSeed, random);
    SCOPED_TRACE(text);
    const auto documents = ReadYaml(text, "f", v1::AppSpec());
    if (!documents.ok()) {
      EXPECT_EQ(documents.status().message().substr(0, 2), "f:");
      continue;
    }
    ++good;
    for (const YamlDocument& document : *documents) {
      const auto again = ReadYaml(ToYaml(*document.message), "g", v1::AppSpec());
      ASSERT_TRUE(again.ok()) << again.status();
      ASSERT_EQ(again->front().message->DebugString(), document.message->DebugString());
    }
    LocateFields(text, "f", v1::AppSpec(), 0, {"key_space.shards[1].range"});
  }
  EXPECT_LT(good, kTexts) << "nothing was broken";
}

}  // namespace
}  // namespace shardmanager::cli
