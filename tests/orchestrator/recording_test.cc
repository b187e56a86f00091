// Whether the partition decides as it did. For a few hundred histories, and the inputs that the
// fuzzer keeps, recordings/histories.txt has a digest of everything that the partition heard and
// asked for, to the last field. A change of the code that is to change no behaviour changes none of
// them. To see what is different: `scripts/record --show NAME` in both builds, and compare.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/random.h"
#include "tests/golden/golden.h"
#include "tests/orchestrator/history.h"
#include "tests/orchestrator/transcript.h"

namespace shardmanager::orchestrator {
namespace {

constexpr uint64_t kSeeds = 300;

// By name, what tells the history.
std::map<std::string, std::string> Inputs() {
  std::map<std::string, std::string> inputs;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    std::string bytes(100 + random.Below(700), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.Next());
    inputs[absl::StrFormat("seed-%03d", seed)] = bytes;
  }
  const char* root = std::getenv("SM_SOURCE_DIR");
  const auto corpus =
      std::filesystem::path(root != nullptr ? root : ".") / "tests/fuzz/corpus/partition";
  for (const auto& file : std::filesystem::directory_iterator(corpus)) {
    std::ostringstream bytes;
    bytes << std::ifstream(file.path(), std::ios::binary).rdbuf();
    inputs[absl::StrCat("corpus-", file.path().filename().string())] = bytes.str();
  }
  return inputs;
}

std::string TranscriptOf(const std::string& bytes) {
  fuzz::FuzzInput input(bytes);
  History history(input);
  World& world = history.world();
  Transcript transcript(Transcript::Detail::kWhole);
  world.hears = [&](const Event& event) {
    transcript.Hears(world.now, event, world.partition().tables());
  };
  world.asks = [&](const Action& action) {
    transcript.Asks(world.now, action, world.partition().tables());
  };
  while (!input.empty()) history.Step();
  history.Settle();
  return transcript.text();
}

// FNV-1a.
uint64_t DigestOf(const std::string& text) {
  uint64_t digest = 14'695'981'039'346'656'037U;
  for (const char c : text) digest = (digest ^ static_cast<uint8_t>(c)) * 1'099'511'628'211U;
  return digest;
}

TEST(RecordingTest, HistoriesGoAsRecorded) {
  const char* show = std::getenv("SM_SHOW");
  std::string recording;
  for (const auto& [name, bytes] : Inputs()) {
    const std::string text = TranscriptOf(bytes);
    absl::StrAppendFormat(&recording, "%016x %s\n", DigestOf(text), name);
    if (show != nullptr && name == show) std::cout << text;
  }
  ExpectGolden("tests/orchestrator/recordings/histories.txt", recording);
}

}  // namespace
}  // namespace shardmanager::orchestrator
