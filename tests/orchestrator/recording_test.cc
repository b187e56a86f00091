// Whether the partition decides as it did. For a few hundred histories, and the inputs that the
// fuzzer keeps, recordings/histories.txt has a digest of everything that the partition heard and
// asked for, to the last field. A change of the code that is to change no behaviour changes none of
// them. To see what is different: `scripts/record --show NAME` in both builds, and compare.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/fuzz/corpus.h"
#include "tests/golden/digest.h"
#include "tests/golden/golden.h"
#include "tests/orchestrator/history.h"
#include "tests/orchestrator/transcripts/transcript.h"

namespace shardmanager::orchestrator {
namespace {

constexpr uint64_t kSeeds = 300;

// By name, what tells the history.
std::map<std::string, std::string> Inputs() {
  std::map<std::string, std::string> inputs;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    inputs[absl::StrFormat("seed-%03d", seed)] = History::Draw(seed);
  }
  for (auto& [name, bytes] : fuzz::CorpusOf("partition")) {
    inputs[absl::StrCat("corpus-", name)] = std::move(bytes);
  }
  return inputs;
}

std::string TranscriptOf(const std::string& bytes) {
  fuzz::FuzzInput input(bytes);
  History history(input);
  World& world = history.world();
  Transcript transcript(Transcript::Detail::kWhole);
  world.watcher.hears = [&](const Event& event) {
    transcript.Hears(world.now, event, world.partition().tables());
  };
  world.watcher.asks = [&](const Action& action) {
    transcript.Asks(world.now, action, world.partition().tables());
  };
  while (!input.empty()) history.Step();
  history.Settle();
  return transcript.text();
}

TEST(RecordingTest, HistoriesGoAsRecorded) {
  const char* show = std::getenv("SM_SHOW");
  std::string recording;
  for (const auto& [name, bytes] : Inputs()) {
    const std::string text = TranscriptOf(bytes);
    Digest digest;
    digest.Add(text);
    absl::StrAppendFormat(&recording, "%016x %s\n", digest.value(), name);
    if (show != nullptr && name == show) std::cout << text;
  }
  ExpectGolden("tests/orchestrator/recordings/histories.txt", recording);
}

}  // namespace
}  // namespace shardmanager::orchestrator
