// Closed-loop clients of the counter example, who check every answer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "counter.pb.h"
#include "shardmanager/router.h"

namespace shardmanager {

// Each client counts keys of its own, one call after another, so it knows what the next
// answer must be: one more than the last. Less: a request was lost. More: one was processed
// twice.
//
// A client may send streams instead, of kMessages messages of one key, each of which it sends when
// the one before is answered. A stream whose shard goes to another server ends, and is opened
// there; what was sent and not answered by then is sent again. So the first of the two may be
// counted as well, and may be so late, behind the second: a server that sends a stream on has it in
// its hands.
class UpgradeLoad {
 public:
  struct Options {
    std::string discovery;
    Security security = {};  // as in RouterOptions
    int clients = 4;
    int shards = 10'000;  // one key in each
    int streaming = 0;    // so many of the clients stream
    std::string samples;  // file: one line a second
  };
  struct Totals {
    uint64_t calls = 0;
    uint64_t failed = 0;    // calls that ended with an error
    uint64_t retried = 0;   // attempts that had to be repeated
    uint64_t refused = 0;   // of those: a server refused them
    uint64_t lost = 0;      // of those: they died on the way
    uint64_t wrong = 0;     // answers that are not the next number
    uint64_t reopened = 0;  // streams that ended, and were opened again
    uint64_t backward = 0;  // answers with an epoch below the one before
    std::vector<uint32_t> latency_us;
  };

  explicit UpgradeLoad(Options options);
  ~UpgradeLoad();
  UpgradeLoad(const UpgradeLoad&) = delete;
  UpgradeLoad& operator=(const UpgradeLoad&) = delete;

  // What has come since the last call.
  Totals Take();

 private:
  struct Client {
    std::mutex mutex;
    Totals totals;
    std::thread thread;
  };

  static constexpr int kMessages = 20;

  // What was answered last.
  struct Last {
    uint64_t value = 0;  // 0: nobody knows
    uint64_t epoch = 0;
    uint64_t unanswered = 0;  // messages that were not answered, and may yet be counted
  };

  void Run(Client& client, int number);
  void Call(Client& client, const std::string& key, Last& last);
  void Stream(Client& client, const std::string& key, Last& last);
  static void Answered(Client& client, Duration took, const std::string& key,
                       const counter::AddResponse& response, Last& last);
  static void Failed(Client& client, const grpc::Status& status, Last& last);
  void Sample();

  const Options options_;
  Router router_;
  std::atomic<bool> stop_{false};
  RouterStats taken_;  // by Take()
  std::vector<std::unique_ptr<Client>> clients_;
  std::thread sampler_;
};

}  // namespace shardmanager
