#include "geo/caller.h"

#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "counter.grpc.pb.h"
#include "runtime/clock.h"
#include "runtime/signals.h"
#include "shardmanager/router.h"

namespace shardmanager {
namespace {

constexpr int kThreads = 24;

struct Flags {
  std::string discovery;
  std::string region;
  std::string shards;
  std::string out;
  int64_t begin_ms = 0;
  double rate = 200;
  bool reads = false;
};

struct CalledShard {
  std::string id;
  int group = 0;
};
using CalledShards = std::vector<CalledShard>;

CalledShards ReadShards(const std::string& file) {
  CalledShards shards;
  std::ifstream in(file);
  for (CalledShard shard; in >> shard.id >> shard.group;) shards.push_back(shard);
  return shards;
}

class Caller {
 public:
  explicit Caller(const Flags& flags)
      : flags_(flags),
        router_({.discovery = {flags.discovery},
                 .subscriber = absl::StrCat("caller-", flags.region),
                 .location = {.region = flags.region}}) {
    LookAtShards();
    for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this, i] { Run(i); });
  }
  ~Caller() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    Write();
  }

  void LookAtShards() {
    std::error_code gone;
    const auto written = std::filesystem::last_write_time(flags_.shards, gone);
    if (gone || written == shards_written_) return;
    shards_written_ = written;
    shards_.store(std::make_shared<const CalledShards>(ReadShards(flags_.shards)));
  }

 private:
  void Run(int number) {
    Random random(static_cast<uint64_t>(number) + 1);
    const Duration every(static_cast<int64_t>(1e6 * kThreads / flags_.rate));
    TimePoint next = MonotonicNow() + number * every / kThreads;
    while (!stop_) {
      std::this_thread::sleep_for(next - MonotonicNow());
      next = std::max(next + every, MonotonicNow());
      const std::shared_ptr<const CalledShards> shards = shards_.load();
      if (!shards->empty()) Call((*shards)[random.Below(shards->size())]);
    }
  }
  void Call(const CalledShard& shard) {
    counter::AddRequest request;
    request.set_key(shard.id);
    counter::AddResponse response;
    const TimePoint begin = MonotonicNow();
    const grpc::Status status = router_.GetClientForShard<counter::Counter>("kv", ShardId(shard.id))
                                    .Call(&counter::Counter::Stub::Add, request, &response,
                                          {.timeout = std::chrono::seconds(5),
                                           .idempotent = flags_.reads,
                                           .any_replica = flags_.reads});
    const double ms = 1e3 * InSeconds(MonotonicNow() - begin);
    if (!status.ok()) std::cerr << shard.id << ": " << status.error_message() << std::endl;
    const std::lock_guard lock(mutex_);
    log_.seconds[static_cast<int>((WallMs() - flags_.begin_ms) / 1'000)][shard.group].Add(
        {.calls = 1, .failed = status.ok() ? 0U : 1U, .sum_ms = ms, .max_ms = ms});
  }
  void Write() {
    std::ofstream out(flags_.out);
    const RouterStats stats = router_.stats();
    out << "attempts " << stats.refused << " " << stats.attempts - stats.calls << "\n";
    for (const auto& [second, groups] : log_.seconds) {
      for (const auto& [group, seen] : groups) {
        out << second << " " << group << " " << seen.calls << " " << seen.failed << " "
            << seen.sum_ms << " " << seen.max_ms << "\n";
      }
    }
  }

  const Flags flags_;
  Router router_;
  std::atomic<std::shared_ptr<const CalledShards>> shards_;
  std::filesystem::file_time_type shards_written_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  CallerLog log_;
  std::vector<std::thread> threads_;
};

}  // namespace

int64_t WallMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void CallerSecond::Add(const CallerSecond& other) {
  calls += other.calls;
  failed += other.failed;
  sum_ms += other.sum_ms;
  max_ms = std::max(max_ms, other.max_ms);
}

CallerSecond CallerLog::Total(int group) const {
  CallerSecond total;
  for (const auto& [second, groups] : seconds) {
    if (const auto found = groups.find(group); found != groups.end()) total.Add(found->second);
  }
  return total;
}

absl::Status CallerLog::Read(const std::string& file) {
  std::ifstream in(file);
  std::string word;
  uint64_t others_refused = 0, others_retried = 0;
  if (!(in >> word >> others_refused >> others_retried) || word != "attempts") {
    return absl::NotFoundError(absl::StrCat(file, ": no caller has written it to its end"));
  }
  refused += others_refused;
  retried += others_retried;
  int second = 0, group = 0;
  for (CallerSecond seen;
       in >> second >> group >> seen.calls >> seen.failed >> seen.sum_ms >> seen.max_ms;) {
    seconds[second][group].Add(seen);
  }
  return absl::OkStatus();
}

int RunCaller(int argc, char** argv) {
  StopSignals stop;
  Flags flags;
  CLI::App cli("Calls shards at a steady rate.");
  cli.add_option("--discovery", flags.discovery)->required();
  cli.add_option("--region", flags.region)->required();
  cli.add_option("--shards", flags.shards)->required();
  cli.add_option("--out", flags.out)->required();
  cli.add_option("--begin", flags.begin_ms)->required();
  cli.add_option("--rate", flags.rate, "Calls a second");
  cli.add_flag("--reads", flags.reads, "Any replica may answer, and a call may be made twice");
  CLI11_PARSE(cli, argc, argv);
  Caller caller(flags);
  while (!stop.WaitFor(std::chrono::milliseconds(100))) caller.LookAtShards();
  return 0;
}

}  // namespace shardmanager
