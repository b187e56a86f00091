// The kvstore example through the router, as tests want it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shardmanager/security.h"
#include "tests/support/kv_stream.h"

namespace shardmanager {
class Router;
}

namespace shardmanager::testing {

struct KvAnswer {
  absl::Status status;
  std::optional<std::string> value;  // of a Get; nothing: no such key
  // Who answered, when the status is OK.
  std::string server;
  std::string shard;
  uint64_t epoch = 0;
};

// Thread-safe.
class KvClient {
 public:
  // `map_cache` and `security`: as in RouterOptions.
  explicit KvClient(const std::string& discovery, const std::string& app = "kv",
                    const std::string& map_cache = "", const Security& security = {});
  ~KvClient();

  // Waits until all shards are served.
  absl::Status WaitReady(std::chrono::milliseconds timeout);

  // Retried only as far as it certainly was not processed, so it happens at most once.
  KvAnswer Put(const std::string& key, const std::string& value,
               std::chrono::milliseconds timeout = std::chrono::seconds(10));
  // A stream of puts to the primary of the key's shard. `ended`: the stream that ended before, and
  // should be reopened.
  absl::StatusOr<std::unique_ptr<KvStream>> OpenStream(const std::string& key,
                                                       std::chrono::milliseconds timeout,
                                                       const KvStream* ended = nullptr);
  KvAnswer Get(const std::string& key,
               std::chrono::milliseconds timeout = std::chrono::seconds(10));

 private:
  const std::string app_;
  std::unique_ptr<Router> router_;
};

}  // namespace shardmanager::testing
