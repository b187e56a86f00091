#include "steady_load.h"

#include <grpcpp/grpcpp.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "counter.grpc.pb.h"
#include "runtime/clock.h"

namespace shardmanager {
namespace {

constexpr std::chrono::milliseconds kTimeout{5'000};

// On the clock of MonotonicNow(), which std::this_thread knows nothing of.
void SleepUntil(TimePoint when) {
  const int64_t us = when.time_since_epoch().count();
  const timespec at{us / 1'000'000, us % 1'000'000 * 1'000};
  while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &at, nullptr) != 0) {
  }
}

}  // namespace

SteadyLoad::SteadyLoad(Options options)
    : options_(std::move(options)),
      router_(RouterOptions{.discovery = {options_.discovery}, .security = options_.security}),
      begin_(MonotonicNow() + Milliseconds(10)),
      totals_(options_.clients) {
  for (int i = 0; i < options_.clients; ++i) {
    clients_.emplace_back([this, i] { Run(i, totals_[i]); });
  }
}

SteadyLoad::~SteadyLoad() { Stop(); }

void SteadyLoad::Run(int number, Totals& totals) {
  prctl(PR_SET_TIMERSLACK, 1);  // ns: to be woken when a call is due, not 50 us later
  counter::AddRequest request;
  request.set_key(absl::StrCat("key-", number));
  counter::AddResponse last;
  for (int64_t turn = 0; !stop_; ++turn) {
    const TimePoint due =
        begin_ + Seconds(1) * (turn * options_.clients + number) / options_.calls_per_s;
    SleepUntil(due);
    counter::AddResponse response;
    const grpc::Status status =
        router_.GetClient<counter::Counter>("counter", request.key())
            .Call(&counter::Counter::Stub::Add, request, &response, {.timeout = kTimeout});
    totals.calls.push_back({due, MonotonicNow() - due});
    if (!status.ok()) {
      ++totals.failed;
      response.set_value(0);  // nobody knows what it is now
    } else if (last.value() != 0) {
      totals.wrong += response.value() != last.value() + 1;
      totals.backward += response.epoch() < last.epoch();
    }
    last = response;
  }
}

SteadyLoad::Totals SteadyLoad::Stop() {
  stop_ = true;
  for (std::thread& client : clients_) client.join();
  clients_.clear();
  Totals all;
  for (Totals& part : totals_) {
    std::move(part.calls.begin(), part.calls.end(), std::back_inserter(all.calls));
    all.failed += part.failed;
    all.wrong += part.wrong;
    all.backward += part.backward;
  }
  totals_.clear();
  std::sort(all.calls.begin(), all.calls.end(),
            [](const Call& a, const Call& b) { return a.due < b.due; });
  const RouterStats stats = router_.stats();
  all.retried = stats.attempts - stats.calls;
  return all;
}

}  // namespace shardmanager
