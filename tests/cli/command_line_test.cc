#include "cli/command_line.h"

#include <sstream>

#include "cli/shardctl.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shardmanager::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

template <typename Command>
Command Parsed(const std::vector<std::string>& arguments) {
  const auto line = ParseCommandLine(arguments);
  if (const auto* answer = std::get_if<Answer>(&line)) {
    ADD_FAILURE() << answer->text;
    return {};
  }
  const auto* command = std::get_if<Command>(&std::get<CommandLine>(line).command);
  EXPECT_NE(command, nullptr);
  return command == nullptr ? Command() : *command;
}

Answer Answered(const std::vector<std::string>& arguments) {
  const auto line = ParseCommandLine(arguments);
  const auto* answer = std::get_if<Answer>(&line);
  EXPECT_NE(answer, nullptr) << "was taken for a command";
  return answer == nullptr ? Answer() : *answer;
}

TEST(CommandLineTest, ReadsApply) {
  const auto apply =
      Parsed<ApplyCommand>({"apply", "-f", "a.yaml", "b.yaml", "-f", "-", "--force"});
  EXPECT_THAT(apply.files, ElementsAre("a.yaml", "b.yaml", "-"));
  EXPECT_TRUE(apply.force);
  EXPECT_FALSE(apply.dry_run);
  EXPECT_TRUE(Parsed<ApplyCommand>({"apply", "--filename=a", "--dry-run"}).dry_run);
}

TEST(CommandLineTest, ReadsGet) {
  const auto get = Parsed<GetCommand>({"get", "shard", "shard-7", "--app", "kv", "-o", "wide"});
  EXPECT_EQ(get.resource, Resource::kShards);
  EXPECT_EQ(get.name, "shard-7");
  EXPECT_EQ(get.app, "kv");
  EXPECT_EQ(get.format, Format::kWide);
  EXPECT_EQ(Parsed<GetCommand>({"get", "apps"}).format, Format::kTable);
}

TEST(CommandLineTest, ReadsTheOtherCommands) {
  EXPECT_EQ(Parsed<DescribeCommand>({"describe", "servers", "kv-1"}).resource, Resource::kServers);
  const auto remove = Parsed<DeleteCommand>({"delete", "app", "kv", "-y"});
  EXPECT_EQ(remove.app, "kv");
  EXPECT_TRUE(remove.yes);
  const auto release = Parsed<ReleaseCommand>({"release", "server", "kv-1", "--app", "kv"});
  EXPECT_EQ(release.server, "kv-1");
  EXPECT_EQ(release.app, "kv");
  const auto rollout = Parsed<RolloutCommand>({"rollout", "status", "kv", "-w", "-o", "wide"});
  EXPECT_EQ(rollout.app, "kv");
  EXPECT_TRUE(rollout.wait);
  EXPECT_EQ(rollout.format, Format::kWide);
  EXPECT_EQ(Parsed<RolloutCommand>({"rollout", "status"}).app, "") << "all apps";
  const auto top = Parsed<TopCommand>({"top", "keys", "kv", "-n", "3", "-o", "json"});
  EXPECT_TRUE(top.keys);
  EXPECT_EQ(top.app, "kv");
  EXPECT_EQ(top.most, 3U);
  EXPECT_EQ(top.format, Format::kJson);
  EXPECT_FALSE(Parsed<TopCommand>({"top", "shards", "kv"}).keys);
  const auto watch = Parsed<WatchCommand>({"watch", "-a", "kv", "--no-follow", "-o", "json"});
  EXPECT_EQ(watch.app, "kv");
  EXPECT_TRUE(watch.no_follow);
  EXPECT_TRUE(watch.json);
  EXPECT_EQ(Parsed<StatusCommand>({"status", "-o", "yaml"}).format, Format::kYaml);
  EXPECT_EQ(Parsed<CompletionCommand>({"completion", "fish"}).shell, "fish");
  Parsed<VersionCommand>({"version"});
}

TEST(CommandLineTest, TakesFlagsForAllCommandsBeforeAndAfterTheCommand) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--server", "h:1", "--timeout", "2s", "get", "apps"},
        {"get", "apps", "--server", "h:1", "--timeout", "2s"},
        {"get", "--server=h:1", "apps", "--timeout=2s"}}) {
    const auto line = ParseCommandLine(arguments);
    ASSERT_TRUE(std::holds_alternative<CommandLine>(line)) << std::get<Answer>(line).text;
    EXPECT_EQ(std::get<CommandLine>(line).server, "h:1");
    EXPECT_EQ(std::get<CommandLine>(line).timeout, std::chrono::seconds(2));
  }
}

TEST(CommandLineTest, ReadsTheServerFromTheEnvironmentUnlessItIsGiven) {
  const auto server = [](const std::vector<std::string>& arguments) {
    return std::get<CommandLine>(ParseCommandLine(arguments)).server;
  };
  unsetenv("SHARDCTL_SERVER");
  EXPECT_EQ(server({"status"}), "127.0.0.1:7400");
  setenv("SHARDCTL_SERVER", "from-env:1", 1);
  EXPECT_EQ(server({"status"}), "from-env:1");
  EXPECT_EQ(server({"status", "-s", "from-flag:2"}), "from-flag:2");
  unsetenv("SHARDCTL_SERVER");
}

TEST(CommandLineTest, TeachesEveryCommand) {
  const Answer help = Answered({"--help"});
  EXPECT_EQ(help.code, kOk);
  EXPECT_THAT(help.text, HasSubstr("Exit codes:"));
  for (const std::string command : {"apply", "get", "describe", "delete", "release", "rollout",
                                    "top", "watch", "cell", "completion"}) {
    const Answer of_command = Answered({command, "--help"});
    EXPECT_EQ(of_command.code, kOk);
    EXPECT_THAT(of_command.text, HasSubstr("Examples:\n")) << command;
    EXPECT_THAT(of_command.text, HasSubstr("shardctl " + command)) << command;
    EXPECT_THAT(help.text, HasSubstr("\n  " + command));
  }
}

TEST(CommandLineTest, AnswersNothingWithTheManual) {
  const Answer answer = Answered({});
  EXPECT_EQ(answer.code, kUsage);
  EXPECT_THAT(answer.text, HasSubstr("First steps:"));
}

TEST(CommandLineTest, SuggestsTheCommandThatWasMeant) {
  const Answer answer = Answered({"-s", "h:1", "aply", "-f", "x"});
  EXPECT_EQ(answer.code, kUsage);
  EXPECT_EQ(
      answer.text,
      "error: unknown command \"aply\" (did you mean \"apply\"?); allowed: apply, get, "
      "describe, explain, drain, undrain, delete, release, retry, move, unquarantine, forget, "
      "approve, end, "
      "pause, resume, pin, unpin, prefer, split, merge, maintenance, rollout, snapshot, "
      "simulate, capacity, "
      "top, watch, history, grant, revoke, whoami, can-i, place, cell, certs, "
      "status, "
      "completion, "
      "version\nSee `shardctl "
      "--help`.\n");
}

TEST(CommandLineTest, SuggestsTheResourceThatWasMeant) {
  EXPECT_EQ(Answered({"get", "shrads"}).text,
            "error: RESOURCE: found \"shrads\" (did you mean \"shards\"?); allowed: app, apps, "
            "grant, grants, operation, operations, server, servers, shard, shards\nSee `shardctl "
            "get --help`.\n");
}

TEST(CommandLineTest, RefusesWhatIsWrongOrMissing) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"apply"},
                                                    {"apply", "-f"},
                                                    {"get"},
                                                    {"get", "apps", "a", "b"},
                                                    {"get", "apps", "-o", "xml"},
                                                    {"watch", "-o", "yaml"},
                                                    {"rollout"},
                                                    {"top", "servers", "kv"},
                                                    {"top", "shards"},
                                                    {"top", "keys", "kv", "-n", "0"},
                                                    {"rollout", "status", "kv", "mail"},
                                                    {"rollout", "status", "-o", "name"},
                                                    {"describe", "app"},
                                                    {"delete", "server", "kv-1"},
                                                    {"delete", "app"},
                                                    {"cell"},
                                                    {"cell", "credentials"},
                                                    {"cell", "secure"},
                                                    {"cell", "status", "--from", "f"},
                                                    {"completion", "tcsh"},
                                                    {"status", "--colour"},
                                                    {"status", "--timeout", "0s"},
                                                    {"status", "--timeout", "soon"},
                                                    {"status", "--server", "nowhere"},
                                                    {"status", "--server", ":1"},
                                                    {"status", "--server", "h:x"}}) {
    const Answer answer = Answered(arguments);
    EXPECT_EQ(answer.code, kUsage) << testing::PrintToString(arguments);
    EXPECT_THAT(answer.text, StartsWith("error: ")) << testing::PrintToString(arguments);
    EXPECT_THAT(answer.text, HasSubstr("See `shardctl " + arguments[0] + " "));
    EXPECT_THAT(answer.text, EndsWith("--help`.\n"));
  }
}

// A script that takes the output must not take a complaint for an answer.
TEST(CommandLineTest, HelpGoesToTheOutputAndComplaintsToTheErrors) {
  std::istringstream in;
  std::ostringstream out, err;
  Terminal terminal = {.in = &in, .out = &out, .err = &err};
  EXPECT_EQ(RunShardctl({"get", "--help"}, terminal), kOk);
  EXPECT_THAT(out.str(), HasSubstr("Examples:\n"));
  EXPECT_EQ(err.str(), "");
  out.str("");
  EXPECT_EQ(RunShardctl({"get", "shrads"}, terminal), kUsage);
  EXPECT_EQ(out.str(), "");
  EXPECT_THAT(err.str(), StartsWith("error: "));
}

}  // namespace
}  // namespace shardmanager::cli
