// Splits and merges under the drivers of production, while servers and leaders die, pause and hear
// late: at no instant is a key served twice, under whatever names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "base/random.h"
#include "model/layout.h"
#include "tests/simulation/checkers.h"
#include "tests/simulation/small_cluster.h"

namespace shardmanager::simulation {
namespace {

constexpr Duration kLook = Milliseconds(10);

// `durable`: what servers know outlives them, so nobody is given up whose disk may be needed.
v1::AppSpec Spec(v1::ReplicationStrategy strategy, bool durable) {
  v1::AppSpec spec;
  spec.set_name(kApp);
  for (const char* point : {"c", "f", "j", "m", "q"}) {
    spec.mutable_key_space()->add_split_points(point);
  }
  spec.mutable_replication()->set_strategy(strategy);
  spec.mutable_replication()->set_replicas(strategy == v1::PRIMARY_ONLY ? 1 : 2);
  spec.mutable_failover()->set_delay_ms(durable ? 120'000 : 1'000);
  return spec;
}

// Everything follows from the seed.
class ReshapedCell {
 public:
  ReshapedCell(uint64_t seed, v1::ReplicationStrategy strategy)
      : random_(seed),
        durable_(strategy == v1::PRIMARY_SECONDARY && seed % 2 == 0),
        spec_(Spec(strategy, durable_)),
        cluster_(SmallCluster(2, 1, Seconds(2)), seed, checkers_, [](uint64_t, bool) {}) {
    cluster_.replicates = strategy == v1::PRIMARY_SECONDARY;
    cluster_.durable = durable_;
    checkers_.Watch(cluster_);
  }

  // What went wrong; empty: nothing.
  std::string Run() {
    RunFor(Seconds(3));
    v1::ApplyAppRequest request;
    *request.mutable_spec() = spec_;
    Ask(&orchestrator::Operations::ApplyApp, request);
    RunFor(Seconds(10));
    for (int step = 0; step < 60 && problem_.empty(); ++step) {
      if (random_.Below(2) == 0) {
        Reshape();
      } else {
        Disturb();
      }
      RunFor(Milliseconds(static_cast<int64_t>(random_.Below(1'500))));
    }
    EndAllFaults();
    if (problem_.empty()) RunFor(Seconds(10));
    while (problem_.empty() && !drained_.empty()) Drain(*drained_.begin());
    if (problem_.empty()) RunFor(Seconds(190));
    if (problem_.empty()) problem_ = checkers_.violation();
    return problem_.empty() ? WhatIsNotServed() : problem_;
  }
  int ordered() const { return ordered_; }

 private:
  void RunFor(Duration time) {
    const TimePoint end = cluster_.schedule.now() + time;
    for (TimePoint next = cluster_.schedule.now() + kLook; next <= end; next += kLook) {
      while (cluster_.schedule.RunNext(next)) cluster_.store.Kick();
      checkers_.Probe();
      Note();
      CheckKeys();
    }
  }

  std::vector<LayoutShard> Layout() const {
    const auto spec = checkers_.StoredSpec();
    return spec ? ExpandLayout(*spec) : std::vector<LayoutShard>();
  }

  // What a shard's name means never changes.
  void Note() {
    for (const LayoutShard& shard : Layout()) {
      const std::pair range(shard.start, shard.end);
      const auto [known, fresh] = ranges_.emplace(shard.id.value(), range);
      if (known->second != range) problem_ = shard.id.value() + " has other keys than before";
    }
  }

  // Invariant A of keys: who admits a request for one is alone, and does not work on one of it
  // under another name. (What a server works on that has lost its right is the storage's to
  // refuse.)
  void CheckKeys() {
    std::map<char, std::string> served;
    for (const std::string& name : cluster_.servers()) {
      SimServer* server = cluster_.server(name);
      if (server == nullptr || !cluster_.Running(name)) continue;
      std::map<char, std::string> here;
      for (const auto& [shard, range] : ranges_) {
        const auto right = server->MayServe(shard);
        const bool serves = right && right->role == Role::kPrimary;
        if (serves) Claim(range, shard + " at " + name, served);
        const bool works = server->WorksBelow(shard, ShardEpoch(~uint64_t{0}));
        if (serves || works) Claim(range, shard + " at " + name, here);
      }
    }
  }

  void Claim(const std::pair<std::string, std::string>& range, const std::string& where,
             std::map<char, std::string>& by_key) {
    for (char key = 'a'; key <= 'z'; ++key) {
      const std::string text(1, key);
      if (text < range.first || (!range.second.empty() && text >= range.second)) continue;
      const auto [first, fresh] = by_key.emplace(key, where);
      if (!fresh) problem_ = absl::StrCat(text, " is served as ", first->second, " and as ", where);
    }
  }

  // ---- people ----
  template <typename Request, typename Response, typename... Wanted>
  void Ask(void (orchestrator::Operations::*method)(Request,
                                                    orchestrator::Operations::Reply<Response>,
                                                    Wanted...),
           const Request& request) {
    const std::string leader = cluster_.Leader();
    if (leader.empty() || !cluster_.Running(leader)) return;
    (cluster_.control(leader)->controller().operations().*method)(
        request,
        [this](const absl::StatusOr<Response>& reply) {
          ordered_ += reply.ok() && std::is_same_v<Request, v1::ReshapeShardsRequest>;
        },
        Wanted{}...);
    RunFor(Milliseconds(300));
  }

  void Reshape() {
    const std::vector<LayoutShard> layout = Layout();
    const size_t at = random_.Below(layout.size());
    v1::ReshapeShardsRequest request;
    request.set_app(kApp);
    request.add_from(layout[at].id.value());
    if (random_.Below(2) == 0 && at + 1 < layout.size()) {
      request.add_from(layout[at + 1].id.value());
      request.add_into(absl::StrCat("m-", ++orders_));
    } else {
      const char first = layout[at].start.empty() ? 'a' : layout[at].start[0];
      const std::string cut(1, static_cast<char>(first + 1 + random_.Below(2)));
      request.add_cuts(cut);
      request.add_into(absl::StrCat("a-", ++orders_));
      request.add_into(absl::StrCat("b-", orders_));
    }
    Ask(&orchestrator::Operations::ReshapeShards, request);
  }

  void Disturb() {
    const auto some = [&](const std::vector<std::string>& hosts) {
      return hosts[random_.Below(hosts.size())];
    };
    const std::string server = some(cluster_.servers());
    const std::string control = some(cluster_.controls());
    switch (random_.Below(10)) {
      case 9:
        return Drain(server);
      case 0:
        return cluster_.Kill(server);
      case 1:
        return cluster_.Kill(control);
      case 2:
        return cluster_.Pause(server);
      case 3:
        return cluster_.Pause(control);
      case 4:
        cluster_.Resume(server);
        return cluster_.Resume(control);
      case 5:
        cluster_.habits.slowest_work = Milliseconds(static_cast<int64_t>(random_.Below(3'000)));
        return;
      case 6:
        cluster_.habits.add_fails = random_.Below(3) > 0 ? 0.9 : 0;
        return;
      case 7:
        cluster_.network.habits.loss = random_.Below(2) == 0 ? 0.1 : 0;
        cluster_.network.habits.duplication = cluster_.network.habits.loss;
        return;
      default:
        return cluster_.StartAll();
    }
  }

  // Or ends that: what a server was just given leaves it again, whether it has heard of it or not.
  void Drain(const std::string& server) {
    if (drained_.insert(server).second) {
      v1::DrainRequest request;
      request.mutable_drain()->mutable_scope()->set_server(server);
      return Ask(&orchestrator::Operations::Drain, request);
    }
    drained_.erase(server);
    v1::UndrainRequest request;
    request.mutable_scope()->set_server(server);
    Ask(&orchestrator::Operations::Undrain, request);
  }

  void EndAllFaults() {
    for (const auto* hosts : {&cluster_.servers(), &cluster_.controls()}) {
      for (const std::string& host : *hosts) cluster_.Resume(host);
    }
    cluster_.habits.slowest_work = Milliseconds(20);
    cluster_.habits.add_fails = 0;
    cluster_.network.habits.loss = 0;
    cluster_.network.habits.duplication = 0;
    cluster_.StartAll();
  }

  // Of the shards that the spec has.
  std::string WhatIsNotServed() {
    std::map<std::string, size_t> wanted;
    std::map<std::string, size_t> found;
    const size_t replicas = spec_.replication().replicas();
    for (const LayoutShard& shard : Layout()) wanted[shard.id.value()] = replicas;
    for (const auto& [shard, servers] : checkers_.Sweep()) {
      if (!servers.empty()) found[shard] = servers.size();
    }
    return found == wanted
               ? ""
               : testing::PrintToString(found) + ", and not " + testing::PrintToString(wanted);
  }

  Random random_;
  const bool durable_;
  const v1::AppSpec spec_;
  Checkers checkers_;
  Cluster cluster_;
  std::map<std::string, std::pair<std::string, std::string>> ranges_;  // of all shards ever
  std::string problem_;
  std::set<std::string> drained_;
  int orders_ = 0;   // asked for
  int ordered_ = 0;  // stored
};

class SimulatedReshapesTest : public testing::TestWithParam<v1::ReplicationStrategy> {};

TEST_P(SimulatedReshapesTest, NoKeyIsServedTwiceNoWriteIsLostAndAllAreServedAtTheEnd) {
  spdlog::set_level(spdlog::level::off);
  int ordered = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    ReshapedCell cell(seed, GetParam());
    EXPECT_EQ(cell.Run(), "") << "seed " << seed;
    ordered += cell.ordered();
  }
  EXPECT_GT(ordered, 30) << "too little was split and merged";
}

INSTANTIATE_TEST_SUITE_P(Apps, SimulatedReshapesTest,
                         testing::Values(v1::PRIMARY_ONLY, v1::PRIMARY_SECONDARY),
                         [](const auto& info) { return v1::ReplicationStrategy_Name(info.param); });

class ReshapeDefectsTest : public testing::TestWithParam<DefectName> {
 protected:
  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    planted_defect = GetParam().defect;
  }
  void TearDown() override { planted_defect = Defect::kNone; }
};

TEST_P(ReshapeDefectsTest, IsCaught) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    for (const auto strategy : {v1::PRIMARY_SECONDARY, v1::PRIMARY_ONLY}) {
      const std::string problem = ReshapedCell(seed, strategy).Run();
      if (problem.empty()) continue;
      std::printf("seed %d: %s\n", static_cast<int>(seed), problem.c_str());
      return;
    }
  }
  FAIL() << "not caught within 100 seeds";
}

INSTANTIATE_TEST_SUITE_P(Planted, ReshapeDefectsTest, testing::ValuesIn(kReshapeDefects));

}  // namespace
}  // namespace shardmanager::simulation
