// What do the leases of many servers cost ZooKeeper? scripts/bench lease
//
// So many sessions, each with a client of its own and the membership core of a server, renew their
// leases as servers do (registration left out) with a real ZooKeeper, or an ensemble of three, on
// this machine, which has their clients and threads to carry, too. Measured after all have joined:
//   lease_renewals_per_s
//   lease_renewal_p50_ms, lease_renewal_p99_ms   from its sending to its answer
//   lease_least_left_ms                          of a lease when it was renewed
//   lease_lapses                                 leases that ended before they were renewed
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordination/zookeeper/private_zookeeper.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "runtime/clock.h"
#include "runtime/core_driver.h"
#include "runtime/serial_executor.h"
#include "server/membership.h"

namespace shardmanager {
namespace {

using server::Answer;
using server::LeaseAnswer;
using server::Membership;

constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::milliseconds kLookAgain{20};
constexpr int kAtATime = 25;

struct Flags {
  int sessions = 500;
  int zookeepers = 1;
  int tick_ms = 2'000;
  int session_timeout_ms = 10'000;
  int seconds = 20;
};

// On one thread.
struct Meter {
  bool on = false;
  int members = 0;
  uint64_t writes = 0;
  uint64_t lapses = 0;
  Duration least_left = Seconds(1'000);
  std::vector<Duration> took;
};

// A server as far as ZooKeeper hears of it while nothing happens.
class Renewer {
 public:
  Renewer(int number, const Flags& flags, CoordinationStoreFactory& stores,
          SerialExecutor& executor, Meter& meter)
      : path_(absl::StrCat("/bench-lease-", number)),
        terms_{Milliseconds(flags.session_timeout_ms), Milliseconds(flags.tick_ms)},
        executor_(executor),
        meter_(meter),
        core_(executor, Membership("bench"),
              [this](auto& action) { std::visit([this](auto& a) { Do(a); }, action); }) {
    SessionOptions options;
    options.timeout = std::chrono::milliseconds(flags.session_timeout_ms);
    options.on_state = [this, asked_at = MonotonicNow()](SessionState state) {
      if (state == SessionState::kConnected)
        core_.Post(server::SessionUp{terms_.timeout, asked_at});
      if (state == SessionState::kExpired) core_.Post(server::SessionExpired{});
    };
    store_ = stores.NewSession(std::move(options));
  }

  void Close() { store_->Close(); }
  // On the executor's thread.
  bool Lapsed() const { return lease_ <= executor_.Now(); }

 private:
  void Do(server::ReadCell& a) {
    core_.Post(server::CellAnswer{a.ticket, Answer::kOk, absl::OkStatus(), terms_});
  }
  void Do(server::ReadApp& a) { core_.Post(server::AppAnswer{a.ticket}); }
  void Do(server::ReadStanding& a) { core_.Post(server::StandingAnswer{.ticket = a.ticket}); }
  void Do(server::Register& a) {
    store_->Multi({CreateNode{path_, "", /*ephemeral=*/true}},
                  [this, ticket = a.ticket](const WriteResult& result) {
                    core_.Post(server::RegisterAnswer{
                        ticket, result.status.ok() ? Answer::kOk : Answer::kUnknown});
                  });
  }
  void Do(server::ReadAssignment& a) { core_.Post(server::AssignmentAnswer{.ticket = a.ticket}); }
  // As CellLink does.
  void Do(server::RenewLease& a) {
    auto written = std::make_shared<bool>(false);
    const TimePoint sent_at = executor_.Now();
    if (a.with_write) {
      store_->Multi({CheckVersion{path_, kAnyVersion}},
                    [written](const WriteResult& result) { *written = result.status.ok(); });
    }
    store_->Sync([](const absl::Status&) {});
    store_->Get(path_, [this, a, sent_at, written](const absl::StatusOr<Node>& node) {
      const Answer answer = node.ok() ? Answer::kOk : Answer::kUnknown;
      const LeaseAnswer event{a.ticket, answer, sent_at, *written};
      executor_.Post([this, event] {
        if (meter_.on && event.answer == Answer::kOk) {
          meter_.took.push_back(executor_.Now() - event.sent_at);
          if (event.written) ++meter_.writes;
        }
        core_.Handle(event);
      });
    });
  }
  void Do(server::SetLease& a) {
    if (meter_.on && lease_ != TimePoint::min()) {
      const Duration left = lease_ - executor_.Now();
      meter_.least_left = std::min(meter_.least_left, left);
      if (left <= Duration(0)) ++meter_.lapses;
    }
    lease_ = a.until;
  }
  void Do(server::BecameMember&) { ++meter_.members; }
  void Do(server::AwaitLease&) {}
  void Do(server::SetPolicy&) {}
  void Do(server::NewSession&) {}  // an expired one is a lapse, and stays one
  void Do(server::SayGoodBye&) {}
  void Do(server::GiveUp& a) { std::cerr << a.why << "\n"; }
  void Do(server::Waiting&) {}
  void Do(server::Gone&) {}

  const std::string path_;
  const SessionTerms terms_;
  SerialExecutor& executor_;
  Meter& meter_;
  TimePoint lease_ = TimePoint::min();
  CoreDriver<Membership> core_;
  std::unique_ptr<CoordinationStore> store_;
};

using Zookeepers = std::vector<std::unique_ptr<PrivateZookeeper>>;

absl::StatusOr<Zookeepers> StartZookeepers(const Flags& flags, const std::string& folder) {
  Zookeepers started;
  PrivateZookeeperOptions options{.tick_ms = flags.tick_ms};
  for (int i = 0; flags.zookeepers > 1 && i < flags.zookeepers; ++i) {
    options.ensemble.push_back(
        {.client_port = FreePort(), .follower_port = FreePort(), .election_port = FreePort()});
  }
  for (int i = 0; i < flags.zookeepers; ++i) {
    options.self = static_cast<size_t>(i);
    options.data_dir = absl::StrCat(folder, "/", i);
    auto one = PrivateZookeeper::Start(options);
    if (!one.ok()) return one.status();
    started.push_back(*std::move(one));
  }
  for (const auto& one : started) {
    if (absl::Status serving = one->AwaitServing(); !serving.ok()) return serving;
  }
  return started;
}

void Report(const Flags& flags, Meter& meter) {
  std::sort(meter.took.begin(), meter.took.end());
  const auto ms = [](Duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  const auto quantile = [&](double q) {
    if (meter.took.empty()) return 0.0;
    return ms(meter.took[static_cast<size_t>(q * static_cast<double>(meter.took.size() - 1))]);
  };
  const double seconds = flags.seconds;
  std::printf("%d sessions of %d ms, tick %d ms, %d ZooKeeper: %.0f writes a second\n",
              flags.sessions, flags.session_timeout_ms, flags.tick_ms, flags.zookeepers,
              static_cast<double>(meter.writes) / seconds);
  std::printf("FIGURE lease_renewals_per_s %.0f 1/s\n",
              static_cast<double>(meter.took.size()) / seconds);
  std::printf("FIGURE lease_renewal_p50_ms %.2f ms\n", quantile(0.5));
  std::printf("FIGURE lease_renewal_p99_ms %.2f ms\n", quantile(0.99));
  std::printf("FIGURE lease_least_left_ms %.0f ms\n", ms(meter.least_left));
  std::printf("FIGURE lease_lapses %d leases\n", static_cast<int>(meter.lapses));
}

absl::Status Run(const Flags& flags, const std::string& folder) {
  auto zookeepers = StartZookeepers(flags, folder);
  if (!zookeepers.ok()) return zookeepers.status();
  std::vector<std::string> endpoints;
  for (const auto& one : *zookeepers) endpoints.push_back(one->connect_string());
  ZookeeperStoreFactory stores(absl::StrJoin(endpoints, ","));
  Meter meter;
  std::vector<std::unique_ptr<Renewer>> renewers;
  SerialExecutor executor("leases");
  int members = 0;
  const auto joined = [&] {
    executor.RunThere([&] { members = meter.members; });
    return members == static_cast<int>(renewers.size());
  };
  // A few at a time: it is not the joining that is measured.
  const TimePoint deadline = MonotonicNow() + kPatience;
  while (members < flags.sessions && MonotonicNow() < deadline) {
    for (int i = 0; i < kAtATime && static_cast<int>(renewers.size()) < flags.sessions; ++i) {
      const int number = static_cast<int>(renewers.size());
      renewers.push_back(std::make_unique<Renewer>(number, flags, stores, executor, meter));
    }
    while (!joined() && MonotonicNow() < deadline) std::this_thread::sleep_for(kLookAgain);
  }
  if (members == flags.sessions) {
    std::this_thread::sleep_for(std::chrono::milliseconds(flags.session_timeout_ms));
    executor.RunThere([&] { meter.on = true; });
    std::this_thread::sleep_for(std::chrono::seconds(flags.seconds));
    executor.RunThere([&] {
      meter.on = false;
      // And those that wait for their renewal.
      meter.lapses += static_cast<uint64_t>(std::count_if(
          renewers.begin(), renewers.end(), [](const auto& one) { return one->Lapsed(); }));
    });
  }
  executor.Stop();
  for (const auto& renewer : renewers) renewer->Close();
  if (members < flags.sessions) {
    return absl::DeadlineExceededError(absl::StrCat("only ", members, " sessions joined"));
  }
  Report(flags, meter);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App cli("Renews the leases of many servers with a real ZooKeeper.");
  cli.add_option("--sessions", flags.sessions)->check(CLI::Range(1, 5'000))->capture_default_str();
  cli.add_option("--zookeepers", flags.zookeepers)
      ->check(CLI::IsMember({1, 3}))
      ->capture_default_str();
  cli.add_option("--tick-ms", flags.tick_ms)->capture_default_str();
  cli.add_option("--session-timeout-ms", flags.session_timeout_ms)->capture_default_str();
  cli.add_option("--seconds", flags.seconds)->check(CLI::Range(1, 300))->capture_default_str();
  CLI11_PARSE(cli, argc, argv);
  spdlog::set_level(spdlog::level::off);  // each session would tell its story
  std::string folder = (std::filesystem::temp_directory_path() / "bench-lease.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const absl::Status status = Run(flags, folder);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!status.ok()) std::cerr << "error: " << status << "\n";
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
