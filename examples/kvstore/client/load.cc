#include "load.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace kvstore {
namespace {

using std::chrono::microseconds;

// Stop() comes from signal handlers, which must not notify: so that is looked at so often.
constexpr std::chrono::milliseconds kStopNoticed{100};

uint64_t NumberOf(const std::string& value) {
  uint64_t number = 0;
  const std::pair<std::string, std::string> parts = absl::StrSplit(value, absl::MaxSplits(' ', 1));
  return absl::SimpleAtoi(parts.first, &number) ? number : 0;
}

}  // namespace

uint64_t LoadReport::failed() const {
  uint64_t calls = 0;
  for (const auto& [code, failure] : failures) calls += failure.calls;
  return calls;
}

void LoadReport::Add(const LoadReport& other) {
  puts += other.puts;
  gets += other.gets;
  lost += other.lost;
  if (lost_key.empty()) lost_key = other.lost_key;
  not_made += other.not_made;
  for (const auto& [code, failure] : other.failures) {
    Failure& sum = failures[code];
    if (sum.calls == 0) sum.first = failure.first;
    sum.calls += failure.calls;
  }
  latencies.Add(other.latencies);
}

absl::StatusOr<std::vector<std::string>> LoadKeys(
    const std::vector<shardmanager::ShardPlace>& shards, const LoadOptions& options) {
  if (shards.empty()) return absl::NotFoundError("the app has no shards");
  std::vector<std::string> prefixes;  // of keys of a shard each
  for (const shardmanager::ShardPlace& shard : shards) {
    // Keys of a range begin with its start; "." comes before all letters and digits. Without
    // ranges, keys are hashed, and each may be in any shard.
    const bool hashed = shard.start.empty() && shard.end.empty();
    std::string prefix = absl::StrCat(shard.start, hashed ? "" : ".", options.name, "-");
    if (shard.end.empty() || prefix < shard.end) prefixes.push_back(std::move(prefix));
  }
  if (prefixes.empty()) return absl::NotFoundError("no shard takes keys like those of this load");
  std::vector<std::string> keys;
  const auto wanted = static_cast<size_t>(std::max(options.keys, options.clients));
  for (size_t i = 0; i < wanted; ++i) {
    keys.push_back(absl::StrCat(prefixes[i % prefixes.size()], i));
  }
  return keys;
}

Load::Load(Client& client, std::vector<std::string> keys, LoadOptions options)
    : client_(client),
      options_(std::move(options)),
      end_(begin_ + std::chrono::seconds(options_.seconds)),
      padding_(static_cast<size_t>(options_.value_bytes), '.'),
      running_(std::min(options_.clients, static_cast<int>(keys.size()))),
      reports_(static_cast<size_t>(running_)) {
  std::vector<std::vector<Key>> of(reports_.size());
  for (size_t i = 0; i < keys.size(); ++i) of[i % of.size()].push_back({std::move(keys[i])});
  for (size_t i = 0; i < of.size(); ++i) {
    threads_.emplace_back([this, i, its = std::move(of[i])]() mutable {
      Run(reports_[i], std::move(its), static_cast<uint32_t>(i));
    });
  }
}

Load::~Load() {
  Stop();
  for (std::thread& thread : threads_) thread.join();
}

bool Load::WaitFor(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return running_ == 0; });
}

microseconds Load::TakeLongest() { return microseconds(longest_us_.exchange(0)); }

LoadReport Load::Report() const {
  LoadReport sum;
  for (const LoadReport& report : reports_) sum.Add(report);
  sum.seconds = std::chrono::duration<double>(over_at_ - begin_).count();
  if (options_.calls_per_s > 0 && !stopped_) {
    const auto due = static_cast<uint64_t>(options_.calls_per_s * options_.seconds);
    sum.not_made = due - std::min(due, sum.calls());
  }
  return sum;
}

void Load::Run(LoadReport& report, std::vector<Key> keys, uint32_t seed) {
  std::minstd_rand random(seed + 1);
  while (const std::optional<Clock::time_point> due = NextDue()) {
    if (!AwaitDue(*due)) break;
    Key& key = keys[random() % keys.size()];
    const bool get = static_cast<int>(random() % 100) < options_.gets_percent;
    if (get) {
      Get(key, report);
    } else {
      Put(key, report);
    }
    const auto took = std::chrono::duration_cast<microseconds>(Clock::now() - *due);
    report.latencies.Add(took);
    for (int64_t longest = longest_us_; took.count() > longest;) {
      if (longest_us_.compare_exchange_weak(longest, took.count())) break;
    }
    ++calls_;
  }
  std::lock_guard lock(mutex_);
  --running_;
  over_at_ = Clock::now();
  changed_.notify_all();
}

std::optional<Load::Clock::time_point> Load::NextDue() {
  const Clock::time_point now = Clock::now();
  if (stopped_ || now >= end_) return std::nullopt;
  if (options_.calls_per_s <= 0) return now;
  const std::chrono::duration<double> after(static_cast<double>(next_++) / options_.calls_per_s);
  const auto due = begin_ + std::chrono::duration_cast<Clock::duration>(after);
  if (due >= end_) return std::nullopt;
  return due;
}

bool Load::AwaitDue(Clock::time_point due) {
  std::unique_lock lock(mutex_);
  while (!stopped_ && Clock::now() < due) {
    changed_.wait_until(lock, std::min(due, Clock::now() + kStopNoticed));
  }
  return !stopped_;
}

void Load::Put(Key& key, LoadReport& report) {
  std::string value = absl::StrCat(++key.put, " ");
  if (value.size() < padding_.size()) value += padding_.substr(value.size());
  const auto answer = client_.Put(key.key, value);
  if (!answer.ok()) return Fail(answer.status(), report);
  key.acknowledged = key.put;
  ++report.puts;
}

void Load::Get(const Key& key, LoadReport& report) {
  const auto answer = client_.Get(key.key);
  if (!answer.ok()) return Fail(answer.status(), report);
  ++report.gets;
  // More than was acknowledged: by a put that failed, or a load before this one.
  if (key.acknowledged == 0 || NumberOf(answer->value()) >= key.acknowledged) return;
  ++report.lost;
  report.lost_key = key.key;
}

void Load::Fail(const absl::Status& status, LoadReport& report) {
  LoadReport::Failure& failure = report.failures[status.code()];
  if (failure.calls++ == 0) failure.first = std::string(status.message());
  ++failed_;
}

}  // namespace kvstore
