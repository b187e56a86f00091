#include "tests/integration/chaos/monkey.h"

#include <signal.h>

#include <algorithm>
#include <iostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/clock.h"
#include "tests/integration/chaos/shard_files.h"
#include "tests/integration/chaos/stored_moves.h"
#include "tests/support/probe.h"

namespace shardmanager::testing {
namespace {

constexpr std::chrono::milliseconds kRepair{1'000};
constexpr std::chrono::milliseconds kJoin{20'000};
// Longest quiet time between two rounds.
constexpr std::chrono::milliseconds kQuiet{800};

}  // namespace

const std::vector<Monkey::Trick>& Monkey::Tricks() {
  static const std::vector<Trick> tricks = {
      {"SIGKILL a server", &Monkey::KillServer},
      {"SIGKILL two servers", &Monkey::KillTwoServers},
      {"SIGKILL a server and start it at once", &Monkey::RestartServerAtOnce},
      {"SIGTERM a server", &Monkey::StopServerPolitely},
      {"SIGSTOP a server for longer than its lease", &Monkey::PauseServer},
      {"SIGSTOP a server while clients have old maps", &Monkey::PauseServerBehindOldMaps},
      {"restart ZooKeeper", &Monkey::RestartZookeeper},
      {"SIGSTOP ZooKeeper", &Monkey::PauseZookeeper},
      {"restart the control plane", &Monkey::RestartControlPlane},
      {"SIGKILL a server without a control plane", &Monkey::LoseServerWithoutControlPlane},
      {"SIGSTOP the control plane for longer than its session", &Monkey::PauseControlPlane},
      {"restart the discovery relay", &Monkey::RestartDiscovery},
  };
  return tricks;
}

Monkey::Monkey(local::Cluster& cluster, KvClient& client, KvClient& direct, int shards,
               uint64_t seed)
    : cluster_(cluster),
      client_(client),
      direct_(direct),
      shards_(shards),
      random_(seed),
      start_(MonotonicNow()),
      events_(cluster.WatchEvents()),
      map_(cluster.WatchMap()) {}

absl::Status Monkey::Round() {
  ++rounds_;
  // Each trick once in random order, then again: a short run sees most of them.
  const std::vector<Trick>& tricks = Tricks();
  if (deck_.empty()) {
    for (const Trick& trick : tricks) deck_.push_back(&trick);
    for (size_t i = deck_.size() - 1; i > 0; --i) std::swap(deck_[i], deck_[random_.Below(i + 1)]);
  }
  const Trick& trick = *deck_.back();
  deck_.pop_back();
  Tell(absl::StrCat("round ", rounds_, ": ", trick.name));
  if (absl::Status status = (this->*trick.play)(); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(trick.name, ": ", status.message()));
  }
  Rest(Between(Milliseconds(0), kQuiet));
  return absl::OkStatus();
}

std::string Monkey::Summary() const {
  return absl::StrFormat("%d rounds; slowest failover %d ms", rounds_, slowest_failover_.count());
}

absl::Status Monkey::KillServer() {
  const std::string server = AnyServer();
  cluster_.server(server).Kill();
  if (absl::Status s = ExpectFailover(absl::StrCat("loss of ", server)); !s.ok()) return s;
  return Restart(server);
}

absl::Status Monkey::KillTwoServers() {
  const std::string one = AnyServer();
  std::string other = one;
  while (other == one) other = AnyServer();
  cluster_.server(one).Kill();
  cluster_.server(other).Kill();
  if (absl::Status s = ExpectFailover(absl::StrCat("loss of ", one, " and ", other)); !s.ok()) {
    return s;
  }
  if (absl::Status s = Restart(one); !s.ok()) return s;
  return Restart(other);
}

absl::Status Monkey::RestartServerAtOnce() {
  const std::string server = AnyServer();
  const TimePoint since = MonotonicNow();
  cluster_.server(server).Kill();
  if (absl::Status s = cluster_.RestartServer(server); !s.ok()) return s;
  if (absl::Status s = ExpectFailover(absl::StrCat("restart of ", server)); !s.ok()) return s;
  return AwaitLive(server, since);
}

absl::Status Monkey::StopServerPolitely() {
  const std::string server = AnyServer();
  if (const int code = cluster_.server(server).Stop(); code != 0) {
    return absl::InternalError(absl::StrCat(server, " ended with exit code ", code));
  }
  if (absl::Status s = ExpectServed(absl::StrCat("good-bye of ", server), kRepair); !s.ok()) {
    return s;
  }
  return Restart(server);
}

std::set<int> Monkey::Pause(const std::string& server) {
  local::Program& program = cluster_.server(server);
  ++stops_[server];
  program.Pause();
  const std::set<int> locked = ShardsLockedBy(program.pid(), cluster_.data_folder());
  if (!locked.empty()) {
    Tell(absl::StrCat("  ", server, " was stopped inside writes of ", locked.size(), " shards"));
  }
  return locked;
}

absl::Status Monkey::PauseServer() {
  const std::string server = AnyServer();
  const TimePoint since = MonotonicNow();
  const std::set<int> locked = Pause(server);
  absl::Status status = ExpectFailover(absl::StrCat("stop of ", server), locked);
  const auto paused = std::chrono::duration_cast<Milliseconds>(MonotonicNow() - since);
  const Milliseconds length = Between(session_timeout(), 2 * session_timeout());
  Rest(std::max(Milliseconds(0), length - paused));
  cluster_.server(server).Resume();
  if (!status.ok()) return status;
  return AwaitLive(server, since);
}

// The former owner goes on while half of the clients have not heard that the shards
// have new ones, and still send it requests.
absl::Status Monkey::PauseServerBehindOldMaps() {
  const std::string server = AnyServer();
  const TimePoint since = MonotonicNow();
  cluster_.discovery().Pause();
  const std::set<int> locked = Pause(server);
  absl::Status status = ExpectServed(direct_, absl::StrCat("stop of ", server),
                                     cluster_.detection_bound() + kRepair, locked);
  cluster_.server(server).Resume();
  Rest(Between(kQuiet / 2, kQuiet));
  cluster_.discovery().Resume();
  if (!status.ok()) return status;
  if (absl::Status s = ExpectServed("return of the relay", kRepair); !s.ok()) return s;
  return AwaitLive(server, since);
}

absl::Status Monkey::RestartZookeeper() {
  cluster_.zookeeper().Kill();
  Rest(Between(Milliseconds(0), 2 * session_timeout()));
  if (absl::Status s = cluster_.StartZookeeper(); !s.ok()) return s;
  // Sessions live on in its data; whoever does not find back within a session
  // time-out is lost and replaced.
  return ExpectFailover("restart of ZooKeeper");
}

absl::Status Monkey::PauseZookeeper() {
  cluster_.zookeeper().Pause();
  Rest(Between(Milliseconds(0), 2 * session_timeout()));
  cluster_.zookeeper().Resume();
  return ExpectFailover("stop of ZooKeeper");
}

absl::Status Monkey::RestartControlPlane() {
  cluster_.control_plane().Kill();
  // A shard that was on its way from one server to another waits for the successor.
  const auto moving = ShardsInMotion(cluster_.zookeeper_endpoint(), cluster_.options().cell,
                                     cluster_.options().app);
  if (!moving.ok()) return moving.status();
  if (!moving->empty()) Tell(absl::StrCat("  it was moving ", moving->size(), " shards"));
  absl::Status s = ExpectServed("loss of the control plane", kRepair, *moving);
  if (!s.ok()) return s;
  Rest(Between(Milliseconds(0), 2 * session_timeout()));
  s = ExpectServed("a while without control plane", kRepair, *moving);
  if (!s.ok()) return s;
  if (s = cluster_.StartControlPlane(); !s.ok()) return s;
  if (s = ExpectServed("return of the control plane", kRepair, *moving); !s.ok()) return s;
  // Its predecessor's session must expire before it leads.
  return ExpectFailover("return of the control plane");
}

absl::Status Monkey::LoseServerWithoutControlPlane() {
  const std::string server = AnyServer();
  cluster_.control_plane().Kill();
  cluster_.server(server).Kill();
  Rest(Between(Milliseconds(0), 2 * session_timeout()));
  if (absl::Status s = cluster_.StartControlPlane(); !s.ok()) return s;
  // The former leader's session must expire, too.
  if (absl::Status s = ExpectFailover("return of the control plane"); !s.ok()) return s;
  return Restart(server);
}

absl::Status Monkey::PauseControlPlane() {
  cluster_.control_plane().Pause();
  Rest(Between(session_timeout(), 2 * session_timeout()));
  const std::string server = AnyServer();
  cluster_.server(server).Kill();
  cluster_.control_plane().Resume();
  if (absl::Status s = ExpectFailover(absl::StrCat("loss of ", server)); !s.ok()) return s;
  return Restart(server);
}

absl::Status Monkey::RestartDiscovery() {
  // There is only this one: what moves while it is away cannot be found.
  if (absl::Status s = AwaitBalance(); !s.ok()) return s;
  if (absl::Status s = ExpectServed("all moves had ended", kRepair); !s.ok()) return s;
  cluster_.discovery().Kill();
  if (absl::Status s = ExpectServed("loss of the relay", kRepair); !s.ok()) return s;
  return cluster_.StartDiscovery();
}

absl::Status Monkey::AwaitBalance() {
  const size_t servers = cluster_.server_names().size();
  auto balanced = [&](const local::MapView& view) {
    const auto counts = view.counts();
    if (!view.all_served() || counts.size() != servers) return false;
    const auto [low, high] =
        std::minmax_element(counts.begin(), counts.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
    return high->second <= low->second + 1;
  };
  if (map_->WaitFor(balanced, kJoin)) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("the assignment does not converge: ", map_->view().Describe()));
}

absl::Status Monkey::ExpectServed(const std::string& after, Milliseconds bound,
                                  const std::set<int>& except) {
  return ExpectServed(client_, after, bound, except);
}

absl::Status Monkey::ExpectServed(KvClient& client, const std::string& after, Milliseconds bound,
                                  const std::set<int>& except) {
  const ProbeResult probe = ProbeShards(client, shards_, bound, except);
  if (!probe.ok()) {
    return absl::DeadlineExceededError(absl::StrFormat(
        "%d ms after %s not all shards were served:\n%s", bound.count(), after, probe.unserved));
  }
  Tell(absl::StrFormat("  after %s all shards were served within %d ms (bound %d ms)", after,
                       probe.took.count(), bound.count()));
  return absl::OkStatus();
}

absl::Status Monkey::ExpectFailover(const std::string& after, const std::set<int>& except) {
  const TimePoint start = MonotonicNow();
  absl::Status status = ExpectServed(after, cluster_.detection_bound() + kRepair, except);
  const auto took = std::chrono::duration_cast<Milliseconds>(MonotonicNow() - start);
  slowest_failover_ = std::max(slowest_failover_, took);
  return status;
}

absl::Status Monkey::Restart(const std::string& server) {
  const TimePoint since = MonotonicNow();
  if (absl::Status s = cluster_.RestartServer(server); !s.ok()) return s;
  return AwaitLive(server, since);
}

absl::Status Monkey::AwaitLive(const std::string& server, TimePoint since) {
  if (events_->WaitFor("ServerJoined", server, since, kJoin)) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat(server, " did not join again"));
}

std::string Monkey::AnyServer() {
  const std::vector<std::string> names = cluster_.server_names();
  return names[random_.Below(names.size())];
}

Monkey::Milliseconds Monkey::Between(Milliseconds from, Milliseconds to) {
  return from + Milliseconds(random_.Below(static_cast<uint64_t>((to - from).count())));
}

// How long a fault lasts is part of the experiment: nothing is waited for here.
void Monkey::Rest(Milliseconds time) { std::this_thread::sleep_for(time); }

Monkey::Milliseconds Monkey::session_timeout() const {
  return Milliseconds(cluster_.options().session_timeout_ms);
}

void Monkey::Tell(const std::string& line) {
  const double seconds = InSeconds(MonotonicNow() - start_);
  std::cout << absl::StrFormat("%6.1f s  %s", seconds, line) << std::endl;
}

}  // namespace shardmanager::testing
