#include "upgrade_trouble.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/random.h"

namespace shardmanager {
namespace {

constexpr std::chrono::milliseconds kStopped{1'600};
// Between two stops: sessions are to be well again before the next one.
constexpr int64_t kShortestGapMs = 2'000;
constexpr int64_t kLongestGapMs = 6'000;
constexpr uint64_t kSeed = 20260301;

void BeBusy(const std::stop_token& stop) {
  volatile uint64_t count = 0;
  while (!stop.stop_requested()) count = count + 1;
}

}  // namespace

UpgradeTrouble::UpgradeTrouble(PrivateZookeeper& zookeeper) : zookeeper_(zookeeper) {
  for (unsigned core = 0; core < std::max(1u, std::thread::hardware_concurrency()); ++core) {
    threads_.emplace_back(BeBusy);
  }
  threads_.emplace_back([this](const std::stop_token& stop) { StopAndGo(stop); });
}

UpgradeTrouble::~UpgradeTrouble() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();  // joins
  zookeeper_.Resume();
}

void UpgradeTrouble::StopAndGo(const std::stop_token& stop) {
  Random random(kSeed);
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  const auto wait = [&](std::chrono::milliseconds time) {
    never.wait_for(lock, stop, time, [] { return false; });
  };
  while (!stop.stop_requested()) {
    wait(std::chrono::milliseconds(
        kShortestGapMs + static_cast<int64_t>(random.Below(kLongestGapMs - kShortestGapMs + 1))));
    if (stop.stop_requested()) return;
    zookeeper_.Pause();
    wait(kStopped);
    zookeeper_.Resume();
  }
}

}  // namespace shardmanager
