// The command line of shardmanagerd.
#pragma once

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "daemon/console_wiring.h"
#include "daemon/history_keeper.h"
#include "security/flags.h"

namespace shardmanager::daemon {

struct ControlFlags {
  std::string cell = "default";
  std::string zookeeper = "127.0.0.1:2181";
  std::string zookeeper_credentials;
  Security security;
  std::string listen = "127.0.0.1:7400";
  std::string advertise;
  std::string metrics_listen;
  ConsoleFlags console;
  std::string data_dir;
  bool dev = false;
  int dev_port = 0;  // 0: any that is free
  bool min_session_timeout_is_set = false;
  uint32_t session_timeout_ms = 10'000;
  uint32_t zookeeper_tick_ms = 2'000;
  bool timeouts_were_named = false;  // one of the two was given
  uint32_t calls_per_s = 100;
  uint32_t calls_at_once = 64;
  uint32_t streams = 10'000;
  HistoryFlags history;
};

// Of the flags whose defaults depend on others: were they given?
struct GivenFlags {
  const CLI::Option* zookeeper = nullptr;
  const CLI::Option* timeout = nullptr;
  const CLI::Option* tick = nullptr;
};

// `flags` is set when `cli` parses; it must outlive that.
GivenFlags AddFlags(CLI::App& cli, ControlFlags& flags);

// Sets the defaults that depend on other flags. INVALID_ARGUMENT: names the flag, and what is
// allowed.
absl::Status CheckFlags(const GivenFlags& given, ControlFlags& flags);

}  // namespace shardmanager::daemon
