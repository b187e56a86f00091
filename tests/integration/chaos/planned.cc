#include "tests/integration/chaos/planned.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/clock.h"

namespace shardmanager::testing {
namespace {

// More than a busy machine needs.
constexpr std::chrono::milliseconds kPatience{60'000};

v1::DrainScope ScopeOf(const std::string& server) {
  v1::DrainScope scope;
  scope.set_server(server);
  return scope;
}

}  // namespace

Planned::Planned(local::Cluster& cluster, uint64_t seed)
    : cluster_(cluster),
      random_(seed),
      start_(MonotonicNow()),
      events_(cluster.WatchEvents()),
      map_(cluster.WatchMap()) {}

absl::Status Planned::Round() {
  if (absl::Status s = AwaitRest(); !s.ok()) return s;
  // Each kind in turn: a short run sees all of them.
  switch (rounds_++ % 3) {
    case 0:
      return DrainServer(AnyServer());
    case 1:
      return RestartDrainedServers();
    default:
      return RestartControlPlane();
  }
}

absl::Status Planned::AwaitRest() {
  const size_t servers = cluster_.server_names().size();
  const auto balanced = [&](const local::MapView& view) { return view.balanced(servers); };
  if (map_->WaitFor(balanced, kPatience)) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("the assignment does not converge: ", map_->view().Describe()));
}

std::string Planned::Summary() const {
  return absl::StrFormat("%d planned events: %d servers drained, %d processes restarted", rounds_,
                         drains_, restarts_);
}

absl::Status Planned::RestartDrainedServers() {
  for (const std::string& server : cluster_.server_names()) {
    if (absl::Status s = Drain(server); !s.ok()) return s;
    if (absl::Status s = StopAndStart(server); !s.ok()) return s;
    if (absl::Status s = Undrain(server); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status Planned::DrainServer(const std::string& server) {
  if (absl::Status s = Drain(server); !s.ok()) return s;
  return Undrain(server);
}

absl::Status Planned::RestartControlPlane() {
  Tell("SIGTERM of the control plane, and start");
  ++restarts_;
  if (const int code = cluster_.control_plane().Stop(); code != 0) {
    return absl::InternalError(absl::StrCat("the control plane ended with exit code ", code));
  }
  return cluster_.StartControlPlane();
}

absl::Status Planned::Drain(const std::string& server) {
  Tell(absl::StrCat("drain of ", server));
  ++drains_;
  const std::string& app = cluster_.options().app;
  if (absl::Status s = cluster_.admin().Drain(app, ScopeOf(server)); !s.ok()) return s;
  const auto empty = [&](const local::MapView& view) {
    return view.all_served() && !view.counts().contains(server);
  };
  if (map_->WaitFor(empty, kPatience)) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat(server, " is not emptied: ", map_->view().Describe()));
}

absl::Status Planned::Undrain(const std::string& server) {
  absl::Status status = cluster_.admin().Undrain(cluster_.options().app, ScopeOf(server));
  return status.ok() ? AwaitRest() : status;
}

absl::Status Planned::StopAndStart(const std::string& server) {
  Tell(absl::StrCat("SIGTERM of ", server, ", and start"));
  ++restarts_;
  const TimePoint since = MonotonicNow();
  if (const int code = cluster_.server(server).Stop(); code != 0) {
    return absl::InternalError(absl::StrCat(server, " ended with exit code ", code));
  }
  const double took = InSeconds(MonotonicNow() - since);
  Tell(absl::StrFormat("  it ended after %.1f s", took));
  if (absl::Status s = cluster_.RestartServer(server); !s.ok()) return s;
  if (events_->WaitFor("ServerJoined", server, since, kPatience)) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat(server, " did not join again"));
}

std::string Planned::AnyServer() {
  const std::vector<std::string> names = cluster_.server_names();
  return names[random_.Below(names.size())];
}

void Planned::Tell(const std::string& line) const {
  std::cout << absl::StrFormat("%6.1f s  %s", InSeconds(MonotonicNow() - start_), line)
            << std::endl;
}

}  // namespace shardmanager::testing
