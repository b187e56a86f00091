// Clients in one region, as a process of their own: they call shards at a steady rate, and write
// down how long it took. (A slow call delays the next one of its thread, and none is made up for.)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace shardmanager {

// Milliseconds since 1970, the same for all processes here.
int64_t WallMs();

// `call --discovery E --region R --shards FILE --out FILE --begin MS [--rate N]
// [--reads]`. FILE `shards` has a line "shard group" for each shard to call; it may be replaced at
// any time. Runs until SIGTERM. Returns the exit code.
int RunCaller(int argc, char** argv);

// What one caller saw of one group of shards in one second.
struct CallerSecond {
  uint64_t calls = 0;
  uint64_t failed = 0;
  double sum_ms = 0;
  double max_ms = 0;

  void Add(const CallerSecond& other);
  double mean_ms() const { return calls == 0 ? 0 : sum_ms / static_cast<double>(calls); }
};

// Of one or several callers.
struct CallerLog {
  std::map<int, std::map<int, CallerSecond>> seconds;  // since `begin`; by group
  uint64_t refused = 0;                                // attempts, by a server without the shard
  uint64_t retried = 0;                                // attempts that were not the first of a call

  // Of the group, all in all.
  CallerSecond Total(int group) const;
  // Adds what the file of another caller says.
  absl::Status Read(const std::string& file);
};

}  // namespace shardmanager
