// The completion scripts, run by the shells that they are for.
#include "cli/completion/completion.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace shardmanager::cli {
namespace {

// What bash prints for the script, stderr included.
std::string Bash(const std::string& script, const std::string& flags = "") {
  const std::string path = testing::TempDir() + "/completion_test.sh";
  std::ofstream(path) << script;
  FILE* pipe = popen(("bash --norc " + flags + " '" + path + "' 2>&1").c_str(), "r");
  if (pipe == nullptr) return "no bash";
  std::string out;
  std::array<char, 4096> block;
  while (const size_t bytes = fread(block.data(), 1, block.size(), pipe)) {
    out.append(block.data(), bytes);
  }
  const int code = pclose(pipe);
  return code == 0 ? out : out + "(exit code " + std::to_string(code) + ")";
}

// What the script offers for the line, whose end is the cursor. A stand-in for shardctl says how it
// was called, and then `answers`.
std::string Completions(const std::string& line, const std::string& answers = "") {
  return Bash(CompletionScript("bash") + R"sh(
shardctl() { printf '%s\t\n' "asked:$(printf '[%s]' "$@")"; printf "$answers"; }
)sh" + "answers='" +
              answers + "'\nCOMP_LINE='" + line + R"sh('
COMP_POINT=${#COMP_LINE}
_shardctl
printf '%s\n' "${COMPREPLY[@]}"
)sh");
}

TEST(CompletionTest, ScriptsParse) {
  EXPECT_EQ(Bash(CompletionScript("bash"), "-n"), "");
  EXPECT_EQ(CompletionScript("tcsh"), "");
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_NE(CompletionScript(shell).find(std::string("shardctl ") + kCompleteCommand),
              std::string::npos)
        << shell;
  }
}

TEST(CompletionTest, GivesShardctlTheWordsUpToTheCursor) {
  EXPECT_EQ(Completions("shardctl de"), "asked:[__complete][de]\n");
  EXPECT_EQ(Completions("shardctl get "), "asked:[__complete][get][]\n");
  EXPECT_EQ(Completions("shardctl -s h:1 get  ap"), "asked:[__complete][-s][h:1][get][ap]\n");
}

TEST(CompletionTest, OffersTheWordsOfTheAnswerWithoutTheirDescriptions) {
  EXPECT_EQ(Completions("shardctl de", "describe\tShow all about one\ndelete\tDelete\n"),
            "asked:[__complete][de]\ndescribe\ndelete\n");
}

TEST(CompletionTest, OffersFilesIfShardctlSaysSo) {
  const std::string folder = testing::TempDir() + "/completion_files";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/a spec.yaml") << "name: kv\n";
  const std::string start = folder + "/a";
  EXPECT_EQ(Completions("shardctl apply -f " + start, ":files\n"),
            "asked:[__complete][apply][-f][" + start + "]\n" + folder + "/a spec.yaml\n");
}

// Bash puts what is chosen behind the last ":" of the word.
TEST(CompletionTest, LeavesOutWhatBashKeepsOfAWordWithAColon) {
  EXPECT_EQ(Completions("shardctl get shards eu:4", "eu:41\t\neu:42\t\n"),
            "asked:[__complete][get][shards][eu:4]\n41\n42\n");
}

}  // namespace
}  // namespace shardmanager::cli
