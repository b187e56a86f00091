// The completion scripts, run by the shells that they are for.
#include "cli/completion.h"

#include <array>
#include <cstdio>
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

// The completions of the words, the last of which is at the cursor. A stand-in for
// shardctl prints how it was called.
std::string Completions(const std::string& words) {
  return Bash(CompletionScript("bash") + R"(
shardctl() { echo "asked:$*" | tr ' ' '_'; }
COMP_WORDS=()" +
              words + R"()
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_shardctl
echo "${COMPREPLY[*]}"
)");
}

TEST(CompletionTest, ScriptsParse) {
  EXPECT_EQ(Bash(CompletionScript("bash"), "-n"), "");
  EXPECT_EQ(CompletionScript("tcsh"), "");
  EXPECT_NE(CompletionScript("fish").find("complete -c shardctl"), std::string::npos);
  EXPECT_NE(CompletionScript("zsh").find("bashcompinit"), std::string::npos);
}

TEST(CompletionTest, CompletesCommandsResourcesAndFlags) {
  EXPECT_EQ(Completions("shardctl de"), "describe delete\n");
  EXPECT_EQ(Completions("shardctl --server h:1 wa"), "watch\n");
  EXPECT_EQ(Completions("shardctl get s"), "servers shards\n");
  EXPECT_EQ(Completions("shardctl delete a"), "app\n");
  EXPECT_EQ(Completions("shardctl completion ''"), "bash zsh fish\n");
  EXPECT_EQ(Completions("shardctl apply --d"), "--dry-run\n");
  EXPECT_EQ(Completions("shardctl get apps -o j"), "json\n");
}

TEST(CompletionTest, AsksShardctlForNames) {
  EXPECT_EQ(Completions("shardctl describe app ''"), "asked:--timeout_2s_get_apps_-o_name\n");
  EXPECT_EQ(Completions("shardctl -s h:1 get shard --app kv ''"),
            "asked:--server_h:1_--timeout_2s_get_shards_--app_kv_-o_name\n");
  EXPECT_EQ(Completions("shardctl explain ''"), "asked:--timeout_2s_get_apps_-o_name\n");
  EXPECT_EQ(Completions("shardctl explain kv ''"),
            "asked:--timeout_2s_get_shards_--app_kv_-o_name\n");
  EXPECT_EQ(Completions("shardctl explain kv s-1 --on ''"),
            "asked:--timeout_2s_get_servers_--app_kv_-o_name\n");
  EXPECT_EQ(Completions("shardctl watch --app ''"), "asked:--timeout_2s_get_apps_-o_name\n");
}

}  // namespace
}  // namespace shardmanager::cli
