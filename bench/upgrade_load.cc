#include "upgrade_load.h"

#include <grpcpp/grpcpp.h>

#include <optional>
#include <string>
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
    : options_(std::move(options)),
      router_(RouterOptions{.discovery = {options_.discovery}, .security = options_.security}) {
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
  std::vector<Last> last(static_cast<size_t>(options_.shards / options_.clients));
  Random random(static_cast<uint64_t>(number) + 1);
  while (!stop_) {
    const uint64_t pick = random.Below(last.size());
    const std::string key = absl::StrFormat(
        "%06d", pick * static_cast<uint64_t>(options_.clients) + static_cast<uint64_t>(number));
    if (number < options_.streaming) {
      Stream(client, key, last[pick]);
    } else {
      Call(client, key, last[pick]);
    }
  }
}

void UpgradeLoad::Call(Client& client, const std::string& key, Last& last) {
  counter::AddRequest request;
  request.set_key(key);
  counter::AddResponse response;
  const TimePoint begin = MonotonicNow();
  const grpc::Status status =
      router_.GetClient<counter::Counter>("counter", key)
          .Call(&counter::Counter::Stub::Add, request, &response, {.timeout = kTimeout});
  if (!status.ok()) return Failed(client, status, last);
  Answered(client, MonotonicNow() - begin, key, response, last);
}

void UpgradeLoad::Stream(Client& client, const std::string& key, Last& last) {
  counter::AddRequest request;
  request.set_key(key);
  counter::AddResponse response;
  auto counter = router_.GetClient<counter::Counter>("counter", key);
  std::optional<StreamContext> ended;
  TimePoint begin = MonotonicNow();
  for (int left = kMessages; left > 0;) {
    const auto deadline = std::chrono::system_clock::now() + kTimeout;
    auto bound =
        counter.Bind({.timeout = kTimeout, .deadline = deadline}, ended ? &*ended : nullptr);
    if (!bound.ok()) return Failed(client, bound.status(), last);
    ended = bound.NewContext();
    const auto stream = bound->AddEach(ended->get());
    while (left > 0 && stream->Write(request) && stream->Read(&response)) {
      Answered(client, MonotonicNow() - begin, key, response, last);
      begin = MonotonicNow();
      --left;
    }
    stream->WritesDone();
    const grpc::Status status = stream->Finish();
    if (left == 0) return;
    if (!ended->ShouldReopen(status)) return Failed(client, status, last);
    ++last.unanswered;
    std::lock_guard lock(client.mutex);
    ++client.totals.reopened;
  }
}

void UpgradeLoad::Answered(Client& client, Duration took, const std::string& key,
                           const counter::AddResponse& response, Last& last) {
  std::lock_guard lock(client.mutex);
  ++client.totals.calls;
  client.totals.latency_us.push_back(static_cast<uint32_t>(took.count()));
  const uint64_t most = last.value + last.unanswered + 1;
  const bool wrong = last.value != 0 && (response.value() <= last.value || response.value() > most);
  const bool backward = response.epoch() < last.epoch;
  if ((wrong || backward) && client.totals.wrong + client.totals.backward < 4) {
    absl::FPrintF(stderr,
                  "wrong: key %s counts %d under epoch %d; the answer before was %d under epoch "
                  "%d, %d messages were not answered\n",
                  key, response.value(), response.epoch(), last.value, last.epoch, last.unanswered);
  }
  client.totals.wrong += wrong;
  client.totals.backward += backward;
  if (last.value != 0 && !wrong) last.unanswered = most - response.value();
  last.value = response.value();
  last.epoch = response.epoch();
}

void UpgradeLoad::Failed(Client& client, const grpc::Status& status, Last& last) {
  std::lock_guard lock(client.mutex);
  ++client.totals.calls;
  ++client.totals.failed;
  if (client.totals.failed < 4) absl::FPrintF(stderr, "failed: %s\n", status.error_message());
  last.value = 0;
  ++last.unanswered;
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
    all.reopened += part.reopened;
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
