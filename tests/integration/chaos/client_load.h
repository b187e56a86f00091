// Clients that put and get at random and write down what they saw.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/chaos/stream_client.h"
#include "tests/integration/history.h"
#include "tests/support/kv_client.h"

namespace shardmanager::testing {

struct ClientLoadOptions {
  int shards = 0;          // of KvSpec()
  int keys_per_shard = 3;  // few, so that clients meet on them
  int threads = 6;
  int streaming = 0;           // so many more threads put through streams
  int calls_per_second = 600;  // of `threads` together; a streaming one sends as many messages as
                               // each of them makes calls
  // Of a call or message. Short, so that a client stuck at a stopped server soon turns to other
  // keys.
  std::chrono::milliseconds timeout{500};
  uint64_t seed = 1;
};

// Runs from its making until Finish().
class ClientLoad {
 public:
  // Thread i calls through clients[i % size]: some may have other maps than others.
  ClientLoad(std::vector<KvClient*> clients, const ClientLoadOptions& options);
  ~ClientLoad();

  // Ends the load and reads each key a last time; all that was seen. `unread`: how
  // many of these last reads got no answer.
  std::vector<Operation> Finish(size_t* unread);

  size_t acknowledged() const { return acknowledged_; }
  size_t failed() const { return failed_; }
  // REQUIRES for the others: Finish() was called.
  const std::string& first_error() const { return first_error_; }  // of a call
  const StreamCounts& streams() const { return streams_; }

 private:
  void Run(int thread);
  void RunStreams(int thread);
  // Until the load is to stop. `calls_each`: how many calls or messages a step has on average.
  void Repeat(double calls_each, const std::function<void()>& step);
  Operation Call(KvClient& client, Kind kind, const std::string& key, const std::string& value,
                 std::chrono::milliseconds timeout);
  void NoteError(const absl::Status& error);
  void Stop();

  const std::vector<KvClient*> clients_;
  const ClientLoadOptions options_;
  std::atomic<bool> stopping_{false};
  std::atomic<size_t> acknowledged_{0}, failed_{0};
  std::mutex mutex_;
  std::vector<Operation> history_;
  std::string first_error_;
  StreamCounts streams_;
  std::vector<std::thread> threads_;
};

}  // namespace shardmanager::testing
