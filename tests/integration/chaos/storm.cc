#include "tests/integration/chaos/storm.h"

#include <algorithm>
#include <iostream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/clock.h"
#include "tests/integration/chaos/stored_moves.h"
#include "tests/support/probe.h"

namespace shardmanager::testing {
namespace {

// From the end of the last fault until all is served, and until all is at rest: what no
// busy machine needs, but something that hangs does.
constexpr std::chrono::milliseconds kCalm{60'000};
constexpr std::chrono::milliseconds kRest{90'000};
constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr std::chrono::milliseconds kLatestBegin{1'000};
constexpr std::chrono::milliseconds kShortest{50};
constexpr std::chrono::milliseconds kQuiet{800};
constexpr size_t kMostFaults = 3;
// Exit codes from here on: a signal ended it.
constexpr int kSignals = 128;

}  // namespace

Storm::Storm(local::Cluster& cluster, Fleet fleet, std::vector<KvClient*> clients,
             const StormOptions& options)
    : cluster_(cluster),
      fleet_(std::move(fleet)),
      clients_(std::move(clients)),
      options_(options),
      random_(options.seed),
      faults_(cluster_, fleet_, options.network, random_, stops_),
      start_(MonotonicNow()) {
  for (size_t i = 0; i < fleet_.relays.size(); ++i) {
    maps_.push_back({fleet_.relays[i].name, cluster_.WatchMap(cluster_.discovery_endpoint(i))});
  }
  for (size_t i = 0; i < fleet_.managers.size(); ++i) {
    maps_.push_back({fleet_.managers[i].name, cluster_.WatchMap(cluster_.admin_endpoint(i))});
  }
}

absl::Status Storm::Round() {
  ++rounds_;
  const std::vector<Fault> faults = faults_.Draw(1 + random_.Below(kMostFaults));
  played_ += static_cast<int>(faults.size());
  Tell(absl::StrCat("round ", rounds_));
  if (absl::Status status = Play(faults); !status.ok()) return status;
  if (options_.network != nullptr) options_.network->Heal();
  if (absl::Status status = Revive(); !status.ok()) return status;
  if (absl::Status status = ExpectServed(); !status.ok()) return status;
  // The next one meets a cluster that is still moving shards about, or one at rest.
  if (random_.Below(4) == 0) return AwaitRest();
  std::this_thread::sleep_for(Between(Milliseconds(0), kQuiet));  // part of the experiment
  return absl::OkStatus();
}

absl::Status Storm::Play(const std::vector<Fault>& faults) {
  struct Step {
    TimePoint at;
    const Fault* fault;
    bool begins;
  };
  const Milliseconds session(cluster_.options().session_timeout_ms);
  std::vector<Step> steps;
  const TimePoint start = MonotonicNow();
  for (const Fault& fault : faults) {
    const TimePoint begin = start + Between(Milliseconds(0), kLatestBegin);
    // Some are over before anybody's session can end.
    const bool is_short = random_.Below(4) == 0;
    const Milliseconds length =
        is_short ? Between(kShortest, session / 4) : Between(session / 4, session * 9 / 4);
    steps.push_back({begin, &fault, true});
    steps.push_back({begin + length, &fault, false});
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.at < b.at; });
  for (const Step& step : steps) {
    std::this_thread::sleep_for(step.at - MonotonicNow());  // part of the experiment
    Tell(absl::StrCat(step.begins ? "  begins: " : "  ends: ", step.fault->what));
    absl::Status status = step.begins ? step.fault->begin() : step.fault->end();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Storm::Revive() {
  for (Process* process : fleet_.All()) {
    const std::optional<int> code = process->ended();
    if (!code.has_value()) continue;
    const std::string how = absl::StrCat(process->name, " ended by itself, with exit code ", *code);
    if (*code >= kSignals) return absl::InternalError(how);
    Tell(absl::StrCat("  ", how, "; started again"));
    ++revived_;
    if (absl::Status status = process->start(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Storm::ExpectServed() {
  const TimePoint calm = MonotonicNow();
  for (size_t i = 0; i < clients_.size(); ++i) {
    const ProbeResult probe = ProbeShards(*clients_[i], options_.shards, kCalm);
    if (probe.ok()) continue;
    return absl::DeadlineExceededError(
        absl::StrFormat("%d s after the last fault client %d does not reach all shards:\n%s",
                        kCalm.count() / 1'000, i + 1, probe.unserved));
  }
  const auto took = std::chrono::duration_cast<Milliseconds>(MonotonicNow() - calm);
  slowest_ = std::max(slowest_, took);
  Tell(absl::StrCat("  all shards are served, ", took.count(), " ms after the last fault"));
  return absl::OkStatus();
}

absl::Status Storm::AwaitRest() {
  const TimePoint calm = MonotonicNow();
  std::string why;
  while (!AtRest(&why)) {
    if (MonotonicNow() - calm > kRest) {
      return absl::DeadlineExceededError(absl::StrFormat(
          "%d s after the last fault it is not at rest: %s", kRest.count() / 1'000, why));
    }
    if (absl::Status status = Revive(); !status.ok()) return status;
    std::this_thread::sleep_for(kBetweenLooks);  // of several watchers, for one moment
  }
  const auto took = std::chrono::duration_cast<Milliseconds>(MonotonicNow() - calm);
  Tell(absl::StrCat("  all is at rest, ", took.count(), " ms later"));
  return absl::OkStatus();
}

bool Storm::AtRest(std::string* why) const {
  const auto version = maps_[0].watcher->view().version;
  for (const Map& map : maps_) {
    const local::MapView view = map.watcher->view();
    *why = absl::StrCat("the map of ", map.of, ": ", view.Describe());
    const auto counts = view.counts();
    if (!view.all_served() || counts.size() != fleet_.servers.size()) return false;
    const auto [low, high] =
        std::minmax_element(counts.begin(), counts.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
    if (high->second > low->second + 1) return false;
    *why = absl::StrFormat("%s has the map %d.%d, and %s %d.%d", maps_[0].of, version.first,
                           version.second, map.of, view.version.first, view.version.second);
    if (view.version != version) return false;
  }
  const auto moving = ShardsInMotion(cluster_.zookeeper_endpoint(), cluster_.options().cell,
                                     cluster_.options().app);
  *why = moving.ok() ? absl::StrCat(moving->size(), " shards are on their way")
                     : moving.status().ToString();
  return moving.ok() && moving->empty();
}

std::string Storm::Summary() const {
  return absl::StrFormat(
      "%d rounds with %d faults; all shards served at most %d ms after the last fault of a "
      "round; %d processes ended by themselves",
      rounds_, played_, slowest_.count(), revived_);
}

Storm::Milliseconds Storm::Between(Milliseconds from, Milliseconds to) {
  return from + Milliseconds(random_.Below(static_cast<uint64_t>((to - from).count())));
}

void Storm::Tell(const std::string& line) const {
  const double seconds = std::chrono::duration<double>(MonotonicNow() - start_).count();
  std::cout << absl::StrFormat("%6.1f s  %s", seconds, line) << std::endl;
}

}  // namespace shardmanager::testing
