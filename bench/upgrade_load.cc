#include "upgrade_load.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "base/random.h"
#include "counter.grpc.pb.h"
#include "runtime/clock.h"

namespace shardmanager {
namespace {

// The paper's clients did not repeat a request; ours do, within this time.
constexpr std::chrono::milliseconds kTimeout{5'000};

uint64_t Retried(const RouterStats& stats) { return stats.attempts - stats.calls; }

}  // namespace

UpgradeLoad::UpgradeLoad(Options options)
    : options_(std::move(options)), router_(RouterOptions{.discovery = {options_.discovery}}) {
  for (int i = 0; i < options_.clients; ++i) {
    Client& client = *clients_.emplace_back(std::make_unique<Client>());
    client.thread = std::thread([this, &client, i] { Run(client, i); });
  }
  sampler_ = std::thread([this] { Sample(); });
}

UpgradeLoad::~UpgradeLoad() {
  stop_ = true;
  for (const auto& client : clients_) client->thread.join();
  sampler_.join();
}

void UpgradeLoad::Run(Client& client, int number) {
  struct Last {
    uint64_t value = 0;
    uint64_t epoch = 0;
  };
  std::vector<Last> last(static_cast<size_t>(options_.shards / options_.clients));
  Random random(static_cast<uint64_t>(number) + 1);
  while (!stop_) {
    const uint64_t pick = random.Below(last.size());
    counter::AddRequest request;
    request.set_key(absl::StrFormat(
        "%06d", pick * static_cast<uint64_t>(options_.clients) + static_cast<uint64_t>(number)));
    counter::AddResponse response;
    const TimePoint begin = MonotonicNow();
    const grpc::Status status =
        router_.GetClient<counter::Counter>("counter", request.key())
            .Call(&counter::Counter::Stub::Add, request, &response, {.timeout = kTimeout});
    const Duration took = MonotonicNow() - begin;
    std::lock_guard lock(client.mutex);
    ++client.totals.calls;
    client.totals.latency_us.push_back(static_cast<uint32_t>(took.count()));
    if (!status.ok()) {
      ++client.totals.failed;
      if (client.totals.failed < 4) absl::FPrintF(stderr, "failed: %s\n", status.error_message());
      last[pick].value = 0;  // nobody knows what it is now
      continue;
    }
    if (last[pick].value != 0) client.totals.wrong += response.value() != last[pick].value + 1;
    client.totals.backward += response.epoch() < last[pick].epoch;
    last[pick] = {response.value(), response.epoch()};
  }
}

// "second calls failed retried refused lost", of that second.
void UpgradeLoad::Sample() {
  std::ofstream file(options_.samples);
  RouterStats last;
  for (int second = 1; !stop_; ++second) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const RouterStats now = router_.stats();
    file << second << " " << now.calls - last.calls << " " << now.failed_calls - last.failed_calls
         << " " << Retried(now) - Retried(last) << " " << now.refused - last.refused << " "
         << now.transport_errors - last.transport_errors << std::endl;
    last = now;
  }
}

UpgradeLoad::Totals UpgradeLoad::Take() {
  Totals all;
  for (const auto& client : clients_) {
    std::lock_guard lock(client->mutex);
    Totals part = std::exchange(client->totals, {});
    all.calls += part.calls;
    all.failed += part.failed;
    all.wrong += part.wrong;
    all.backward += part.backward;
    all.latency_us.insert(all.latency_us.end(), part.latency_us.begin(), part.latency_us.end());
  }
  const RouterStats now = router_.stats();
  const RouterStats before = std::exchange(taken_, now);
  all.retried = Retried(now) - Retried(before);
  all.refused = now.refused - before.refused;
  all.lost = now.transport_errors - before.transport_errors;
  return all;
}

}  // namespace shardmanager
