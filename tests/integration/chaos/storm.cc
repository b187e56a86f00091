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

// From when all is served until all is at rest: more than a busy machine needs.
constexpr std::chrono::milliseconds kRest{90'000};
constexpr std::chrono::milliseconds kAsk{1'000};
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
      lasting_(cluster_, fleet_, faults_, random_, options.lasting),
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
  Tell(absl::StrCat("round ", rounds_));
  const absl::StatusOr<bool> lasting = BeginLasting();
  if (!lasting.ok()) return lasting.status();
  // Half of the lasting ones come alone: a restart of everything would hide that nobody noticed.
  const bool alone = *lasting && random_.Below(2) == 0;
  const std::vector<Fault> faults = faults_.Draw(alone ? 0 : 1 + random_.Below(kMostFaults));
  played_ += static_cast<int>(faults.size());
  if (absl::Status status = Play(faults); !status.ok()) return status;
  faults_.Heal();
  if (absl::Status status = Revive(); !status.ok()) return status;
  if (absl::Status status = ExpectServed(); !status.ok()) return status;
  lasting_.EndRound();
  // The next one meets a cluster that is still moving shards about, or one at rest.
  if (random_.Below(4) == 0) return AwaitRest();
  std::this_thread::sleep_for(Between(Milliseconds(0), kQuiet));  // part of the experiment
  return absl::OkStatus();
}

absl::StatusOr<bool> Storm::BeginLasting() {
  if (!lasting_.Due()) return false;
  if (absl::Status status = AwaitRest(); !status.ok()) return status;
  std::vector<std::string> shards;
  for (const auto& shard : maps_[0].watcher->view().shards) shards.push_back(shard.id);
  const absl::StatusOr<std::string> what = lasting_.Begin(shards);
  if (!what.ok()) return what.status();
  ++lasting_begun_;
  Tell(absl::StrCat("  for good: ", *what));
  return true;
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
  const auto elapsed = [&] {
    return std::chrono::duration_cast<Milliseconds>(MonotonicNow() - calm);
  };
  for (size_t i = 0; i < clients_.size(); ++i) {
    const ProbeResult probe =
        ProbeShards(*clients_[i], options_.shards, options_.served_within - elapsed());
    if (probe.ok() && elapsed() <= options_.served_within) continue;
    return absl::DeadlineExceededError(absl::StrFormat(
        "after the last fault client %d did not reach all shards within %d ms (it took %d ms):\n%s",
        i + 1, options_.served_within.count(), elapsed().count(), probe.unserved));
  }
  const Milliseconds took = elapsed();
  slowest_ = std::max(slowest_, took);
  Tell(absl::StrCat("  all shards are served, ", took.count(), " ms after the last fault"));
  return absl::OkStatus();
}

absl::Status Storm::AwaitRest() {
  const TimePoint calm = MonotonicNow();
  std::string why, last;
  while (!AtRest(&why)) {
    last = why;
    if (MonotonicNow() - calm > kRest) {
      return absl::DeadlineExceededError(absl::StrFormat(
          "%d s after all was served it is not at rest: %s", kRest.count() / 1'000, why));
    }
    if (absl::Status status = Revive(); !status.ok()) return status;
    std::this_thread::sleep_for(kBetweenLooks);  // of several watchers, for one moment
  }
  const auto took = std::chrono::duration_cast<Milliseconds>(MonotonicNow() - calm);
  slowest_rest_ = std::max(slowest_rest_, took);
  Tell(absl::StrCat("  all is at rest, ", took.count(), " ms later",
                    last.empty() ? "" : "; last awaited: ", last));
  return absl::OkStatus();
}

bool Storm::AtRest(std::string* why) const {
  const auto version = maps_[0].watcher->view().version;
  for (const Map& map : maps_) {
    if (lasting_.cut_off() && map.of == fleet_.managers[*lasting_.cut_off()].name) continue;
    const local::MapView view = map.watcher->view();
    *why = absl::StrCat("the map of ", map.of, ": ", view.Describe());
    if (!HasItsShare(view)) return false;
    *why = absl::StrFormat("%s has the map %d.%d, and %s %d.%d", maps_[0].of, version.first,
                           version.second, map.of, view.version.first, view.version.second);
    if (view.version != version) return false;
  }
  const auto moving = ShardsInMotion(cluster_.zookeeper_endpoint(), cluster_.options().cell,
                                     cluster_.options().app);
  *why = moving.ok() ? absl::StrCat(moving->size(), " shards are on their way")
                     : moving.status().ToString();
  return moving.ok() && moving->empty() && LeaderContent(why);
}

bool Storm::HasItsShare(const local::MapView& view) const {
  const auto complete = [this](const local::MapView::Shard& shard) {
    return shard.servers.size() == static_cast<size_t>(options_.replicas);
  };
  const auto counts = view.counts();
  std::set<std::string> serve;
  for (const auto& [server, count] : counts) serve.insert(server);
  if (view.shards.empty() || !std::all_of(view.shards.begin(), view.shards.end(), complete) ||
      serve != lasting_.Healthy()) {
    return false;
  }
  const auto [low, high] =
      std::minmax_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  return high->second <= low->second + 1;
}

bool Storm::LeaderContent(std::string* why) const {
  *why = "no shardmanagerd answers as the leader";
  bool content = false;
  for (size_t i = 0; i < fleet_.managers.size(); ++i) {
    const auto apps = cluster_.admin(i, kAsk).GetApps();
    if (!apps.ok()) continue;
    const std::string& name = fleet_.managers[i].name;
    if (lasting_.cut_off() == i) {
      *why = absl::StrCat(name, " is cut off from ZooKeeper and answers as the leader");
      return false;
    }
    if (apps->apps_size() != 1) return false;
    const v1::AppStatus& app = apps->apps(0);
    content = app.replicas_serving() == app.replicas_wanted();
    *why = absl::StrCat(name, " finds ", app.replicas_serving(), " of ", app.replicas_wanted(),
                        " replicas in order");
  }
  return content;
}

std::string Storm::Summary() const {
  return absl::StrFormat(
      "%d rounds with %d faults that ended and %d that last; %d processes ended by themselves\n"
      "FIGURE chaos_served_ms %d ms\nFIGURE chaos_rest_ms %d ms",
      rounds_, played_, lasting_begun_, revived_, slowest_.count(), slowest_rest_.count());
}

Storm::Milliseconds Storm::Between(Milliseconds from, Milliseconds to) {
  return from + Milliseconds(random_.Below(static_cast<uint64_t>((to - from).count())));
}

void Storm::Tell(const std::string& line) const {
  const double seconds = InSeconds(MonotonicNow() - start_);
  std::cout << absl::StrFormat("%6.1f s  %s", seconds, line) << std::endl;
}

}  // namespace shardmanager::testing
