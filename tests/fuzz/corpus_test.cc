// Every target on every seed of its corpus, and on some that are a little off: what was
// once a crash stays fixed, and no target rots between two runs of the fuzzer.
#include "tests/fuzz/corpus.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager::fuzz {
namespace {

constexpr int kVariants = 8;  // of each seed

// Some bytes changed, some cut out, some twice.
std::string Varied(std::string bytes, Random& random) {
  for (uint64_t changes = 1 + random.Below(4); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = random.Below(bytes.size());
    switch (random.Below(3)) {
      case 0:
        bytes[at] = static_cast<char>(random.Next());
        break;
      case 1:
        bytes.erase(at, random.Below(8));
        break;
      default:
        bytes.insert(at, bytes.substr(random.Below(bytes.size()), random.Below(16)));
    }
  }
  return bytes;
}

class CorpusTest : public testing::TestWithParam<std::string> {};

TEST_P(CorpusTest, SeedsAndTheirVariantsDoNoHarm) {
  const Target target = Targets().at(GetParam());
  const auto seeds = CorpusOf(GetParam());
  EXPECT_FALSE(seeds.empty()) << "a target without a seed: " << GetParam();
  Random random(1);
  for (const auto& [name, bytes] : seeds) {
    std::fprintf(stderr, "%s/%s\n", GetParam().c_str(), name.c_str());  // the last one crashed
    FuzzInput input(bytes);
    target(input);
    for (int i = 0; i < kVariants; ++i) {
      const std::string varied = Varied(bytes, random);
      FuzzInput other(varied);
      target(other);
    }
  }
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, target] : Targets()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, CorpusTest, testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

TEST(CanaryTest, FailsWhenItsWordIsSaid) {
  FuzzInput input("LOST");
  EXPECT_DEATH(Targets().at("canary")(input), "the canary sings");
}

}  // namespace
}  // namespace shardmanager::fuzz
