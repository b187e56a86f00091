#include "tests/integration/chaos/client_load.h"

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "runtime/clock.h"
#include "tests/support/kv_spec.h"

namespace shardmanager::testing {
namespace {

constexpr std::chrono::milliseconds kLastReadTimeout{20'000};

Micros Now() { return MonotonicNow().time_since_epoch().count(); }

Outcome OutcomeOf(const absl::Status& status) {
  if (status.ok()) return Outcome::kOk;
  // The shard's database said no: it was not written, and never will be.
  if (absl::IsAborted(status)) return Outcome::kRefused;
  return Outcome::kUnknown;
}

}  // namespace

ClientLoad::ClientLoad(std::vector<KvClient*> clients, const ClientLoadOptions& options)
    : clients_(std::move(clients)), options_(options) {
  for (int thread = 0; thread < options_.threads; ++thread) {
    threads_.emplace_back([this, thread] { Run(thread); });
  }
  for (int thread = 0; thread < options_.streaming; ++thread) {
    threads_.emplace_back([this, thread] { RunStreams(thread); });
  }
}

ClientLoad::~ClientLoad() { Stop(); }

void ClientLoad::Stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ClientLoad::Run(int thread) {
  Random random(options_.seed * 1'000 + static_cast<uint64_t>(thread));
  KvClient& client = *clients_[static_cast<size_t>(thread) % clients_.size()];
  std::vector<Operation> seen;
  Repeat(1, [&] {
    const auto shard = static_cast<int>(random.Below(static_cast<uint64_t>(options_.shards)));
    const auto n = static_cast<int>(random.Below(static_cast<uint64_t>(options_.keys_per_shard)));
    const Kind kind = random.Below(2) == 0 ? Kind::kPut : Kind::kGet;
    const std::string value = absl::StrCat("client ", thread, " call ", seen.size());
    seen.push_back(Call(client, kind, KeyOf(shard, n), value, options_.timeout));
    ++(seen.back().outcome == Outcome::kOk ? acknowledged_ : failed_);
  });
  std::lock_guard lock(mutex_);
  history_.insert(history_.end(), seen.begin(), seen.end());
}

void ClientLoad::RunStreams(int thread) {
  StreamClient streams(
      *clients_[static_cast<size_t>(thread) % clients_.size()],
      {.name = absl::StrCat("streaming client ", thread),
       .shards = options_.shards,
       .keys_per_shard = options_.keys_per_shard,
       .timeout = options_.timeout,
       .seed = options_.seed * 1'000 + static_cast<uint64_t>(options_.threads + thread)});
  Repeat(StreamClient::kMessagesAtOnce, [&] { streams.Step(); });
  const std::vector<Operation> seen = streams.Finish();
  std::lock_guard lock(mutex_);
  history_.insert(history_.end(), seen.begin(), seen.end());
  streams_ += streams.counts();
}

void ClientLoad::Repeat(double calls_each, const std::function<void()>& step) {
  const auto interval = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(calls_each * options_.threads / options_.calls_per_second));
  auto due = std::chrono::steady_clock::now();
  while (!stopping_) {
    step();
    due = std::max(due + interval, std::chrono::steady_clock::now() - interval);
    std::this_thread::sleep_until(due);  // the pace, not a wait
  }
}

void ClientLoad::NoteError(const absl::Status& error) {
  std::lock_guard lock(mutex_);
  if (first_error_.empty()) first_error_ = error.ToString();
}

Operation ClientLoad::Call(KvClient& client, Kind kind, const std::string& key,
                           const std::string& value, std::chrono::milliseconds timeout) {
  Operation op{.kind = kind, .key = key, .invoked = Now()};
  const KvAnswer answer =
      kind == Kind::kPut ? client.Put(key, value, timeout) : client.Get(key, timeout);
  op.returned = Now();
  if (!answer.status.ok()) NoteError(answer.status);
  op.value = kind == Kind::kPut ? std::optional(value) : answer.value;
  op.outcome = OutcomeOf(answer.status);
  if (op.outcome == Outcome::kRefused) op.refusal = std::string(answer.status.message());
  op.shard = answer.shard;
  op.server = answer.server;
  op.epoch = answer.epoch;
  return op;
}

std::vector<Operation> ClientLoad::Finish(size_t* unread) {
  Stop();
  for (int shard = 0; shard < options_.shards; ++shard) {
    for (int n = 0; n < options_.keys_per_shard; ++n) {
      history_.push_back(Call(*clients_[0], Kind::kGet, KeyOf(shard, n), "", kLastReadTimeout));
      *unread += history_.back().outcome != Outcome::kOk;
    }
  }
  return std::move(history_);
}

}  // namespace shardmanager::testing
