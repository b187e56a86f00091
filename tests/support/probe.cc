#include "tests/support/probe.h"

#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/kv_spec.h"

namespace shardmanager::testing {
namespace {

// So short that a request stuck at a server that was stopped does not hide that
// another server has the shard by now.
constexpr std::chrono::milliseconds kAttempt{150};

}  // namespace

ProbeResult ProbeShards(KvClient& client, int shards, std::chrono::milliseconds bound,
                        const std::set<int>& except) {
  const auto start = std::chrono::steady_clock::now();
  std::mutex mutex;
  ProbeResult result;
  auto probe = [&](int shard) {
    KvAnswer answer;
    do {
      answer = client.Get(KeyOf(shard), kAttempt);
    } while (!answer.status.ok() && std::chrono::steady_clock::now() - start < bound);
    std::lock_guard lock(mutex);
    if (!answer.status.ok()) {
      absl::StrAppend(&result.unserved, "shard ", shard, ": ", answer.status.ToString(), "\n");
    }
  };
  std::vector<std::thread> threads;
  for (int shard = 0; shard < shards; ++shard) {
    if (!except.contains(shard)) threads.emplace_back(probe, shard);
  }
  for (std::thread& thread : threads) thread.join();
  result.took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  return result;
}

}  // namespace shardmanager::testing
