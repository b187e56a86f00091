// The flags of all commands: whom to ask, for how long, how, and by which id.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "security/flags.h"

namespace shardmanager::cli {

struct ConnectionWords {
  std::string server = "127.0.0.1:7400";
  std::string timeout = "10s";
  std::string operation;  // "": a new one
  Security security;
};

void AddConnection(CLI::App& cli, ConnectionWords& words);

// What is wrong with "host:port[,host:port...]"; "": nothing. Example: of an endpoint.
std::string CheckEndpoints(const std::string& text, const std::string& example);
// What is wrong with a span of time that is to be more than nothing; "": nothing.
std::string CheckTimeout(const std::string& text);

}  // namespace shardmanager::cli
