// Runs shardctl against a control plane of canned answers.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/shardctl.h"
#include "gtest/gtest.h"
#include "tests/cli/fake_admin.h"

namespace shardmanager::cli {

class ShardctlTest : public testing::Test {
 protected:
  ExitCode Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--server", admin_.endpoint(), "--timeout", "20s",
                                         "--insecure", "--operation-id", "op-0000cafe"});
    return RunAsIs(arguments);
  }
  ExitCode RunAsIs(const std::vector<std::string>& arguments) {
    std::istringstream in(input_);
    std::ostringstream out, err;
    if (output_is_lost_) out.setstate(std::ios::badbit);
    Terminal terminal = {.in = &in,
                         .out = &out,
                         .err = &err,
                         .interactive = interactive_,
                         .colour = false,
                         .now_ms = 1772366400000 + 123'000};
    const ExitCode code = RunShardctl(arguments, terminal);
    out_ = out.str();
    err_ = err.str();
    return code;
  }

  std::string WriteFile(const std::string& name, const std::string& text) {
    const std::string path = testing::TempDir() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  FakeAdmin admin_;
  std::string input_;
  bool interactive_ = false;
  bool output_is_lost_ = false;  // as that of a pipe whose reader has ended
  std::string out_;
  std::string err_;
};

}  // namespace shardmanager::cli
