// Clients that write the rows of one shard over and over, and know what must be there.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/random.h"
#include "kv.pb.h"
#include "shardmanager/router.h"

namespace shardmanager {

// A row belongs to one client, who writes it one version after another.
class TransferLoad {
 public:
  struct Options {
    std::string discovery;
    uint64_t rows = 0;
    uint64_t value_bytes = 0;
    int clients = 4;
    double writes_per_s = 300;  // of all clients
    uint64_t seed = 1;
  };
  // What the clients felt since the last call.
  struct Felt {
    uint64_t writes = 0;
    uint64_t failed = 0;
    double longest_ms = 0;
    // The longest of those that the new owner answered first: each client's first answer
    // under a new epoch. They waited for the cutover.
    double cutover_ms = 0;
  };

  explicit TransferLoad(Options options);
  ~TransferLoad();

  // Writes every row once, from many threads. The first error.
  absl::Status Fill();
  void Start();
  void Stop();
  Felt Take();
  // REQUIRES: stopped. Reads every row: "" or what is lost, or there and never acknowledged.
  std::string Check();

 private:
  struct Row {
    uint64_t acknowledged = 0;    // version; 0: never
    std::set<uint64_t> in_doubt;  // written since, and not answered with OK
    uint64_t next = 1;
  };

  void Run(int client);
  absl::Status Write(uint64_t row, Felt* felt);
  std::string Value(uint64_t row, uint64_t version) const;
  static std::string Key(uint64_t row);

  const Options options_;
  Router router_;
  std::vector<Row> rows_;  // each used by its client only
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  Felt felt_;
  std::map<int, uint64_t> epochs_;  // last seen, by client
};

}  // namespace shardmanager
