#include "tests/orchestrator/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"

namespace shardmanager::orchestrator {
namespace {

constexpr uint32_t kServers = 5;

std::string Name(uint32_t i) { return absl::StrCat("kv-", i); }

// Of every second spec with secondaries. (Nothing is drawn for it: histories that were kept stay as
// they are.)
void Scale(v1::AppSpec& spec) {
  const v1::Replication& replication = spec.replication();
  const bool may = replication.strategy() != v1::PRIMARY_ONLY && !replication.quorum();
  if (!may || spec.key_space().shards_size() % 2 != 0) return;
  spec.add_metrics()->set_name("cpu");
  spec.mutable_moves()->set_collect_interval_ms(1'000);
  spec.mutable_scaling()->set_metric("cpu");
  spec.mutable_scaling()->set_target(50);
  spec.mutable_scaling()->set_max_replicas(4);
  spec.mutable_scaling()->set_down_after_ms(5'000);
  spec.mutable_scaling()->set_max_changes_per_minute("50");
  spec = WithDefaults(spec);
}

// Of every third one, likewise: what is restored when, and how close replicas may stand.
void BeCareful(v1::AppSpec& spec) {
  if (spec.key_space().shards_size() % 3 != 0) return;
  spec.mutable_failover()->set_max_concurrent(2);
  spec.mutable_failover()->add_region_order("r2");
  v1::MassFailurePolicy& policy = *spec.mutable_failover()->mutable_mass_failure();
  policy.set_servers("40%");
  policy.set_max_concurrent(1);
  policy.set_patience_ms(5'000);
  v1::SpreadLimit& limit = *spec.mutable_placement()->add_spread_limits();
  limit.set_level(v1::REGION);
  limit.set_replicas(2);
  limit.set_soft(spec.replication().strategy() == v1::PRIMARY_SECONDARY);
}

// Of every fourth one, likewise: replicas follow their requests.
void FollowDemand(v1::AppSpec& spec) {
  if (spec.key_space().shards_size() % 4 != 1) return;
  spec.mutable_placement()->mutable_follow_demand()->set_after_ms(3'000);
  spec.mutable_moves()->set_collect_interval_ms(1'000);
  spec = WithDefaults(spec);
}

// Most from one region for 20 s, then from the other one.
std::vector<RequestsFrom> RequestsAt(const std::string& shard, TimePoint now) {
  const int64_t turn = now.time_since_epoch() / Seconds(20) + std::stoi(shard.substr(2));
  return {{turn % 2 == 0 ? "r1" : "r2", 30}, {turn % 2 == 0 ? "r2" : "r1", 10}, {"no", 99}};
}

// Up and down within a minute, each shard at another time.
double LoadAt(const std::string& shard, TimePoint now) {
  const int64_t second = now.time_since_epoch() / Seconds(1);
  return static_cast<double>((second * 7 + std::stoi(shard.substr(2)) * 100) % 400);
}

// Of every second server, up and down; now and then nothing.
std::vector<MetricAmount> CapacityAt(const std::string& server, TimePoint now) {
  const int number = server.back() - '0';
  if (number % 2 == 0) return {};
  const int64_t second = now.time_since_epoch() / Seconds(1);
  return {{"cpu", static_cast<double>((second * 13 + number * 150) % 800)}};
}

}  // namespace

std::string History::Draw(uint64_t seed) {
  Random random(seed);
  std::string bytes(100 + random.Below(700), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.Next());
  return bytes;
}

History::History(fuzz::FuzzInput& input)
    : input_(input), kind_(NextKind(input)), world_(NextSpec()) {
  world_.load = [this](const std::string& shard, const std::string& server) {
    const double replicas = static_cast<double>(world_.Holders(shard).size());
    const double load = LoadAt(shard, world_.now) / std::max(1.0, replicas);
    const bool primary = world_.servers[server].held[shard].role == Role::kPrimary;
    return std::vector<MetricAmount>{{"cpu", primary ? 3 * load : load}};
  };
  world_.says.requests = [this](const std::string& shard, const std::string&) {
    return RequestsAt(shard, world_.now);
  };
  world_.says.capacity = [this](const std::string& server) {
    const bool counts = !world_.partition().state().loads.metrics.empty();
    return counts ? CapacityAt(server, world_.now) : std::vector<MetricAmount>{};
  };
  world_.Start();
}

History::Kind History::NextKind(fuzz::FuzzInput& input) {
  constexpr Kind kKinds[] = {{.strategy = v1::PRIMARY_ONLY, .quorum = false},
                             {.strategy = v1::SECONDARY_ONLY, .quorum = false},
                             {.strategy = v1::PRIMARY_SECONDARY, .quorum = false},
                             {.strategy = v1::PRIMARY_SECONDARY, .quorum = true}};
  Kind kind = kKinds[input.Below(4)];
  kind.all_begin_anew = input.Flag();
  // (With a quorum a primary that cannot load its shard keeps it: decision 0013.)
  kind.stays_sick = kind.quorum ? kServers : input.Below(2 * kServers);
  return kind;
}

uint32_t History::Replicas(uint32_t wanted) const {
  return kind_.strategy == v1::PRIMARY_ONLY ? 1 : wanted;
}

v1::AppSpec History::NextSpec() {
  const auto shards = static_cast<int>(1 + input_.Below(8));
  v1::AppSpec spec = TestSpec(shards, kind_.strategy, Replicas(1 + input_.Below(3)));
  spec.mutable_replication()->set_quorum(kind_.quorum);
  spec.mutable_drain()->set_prepare_ms(10'000);
  if (input_.Below(4) == 0) spec.mutable_moves()->set_primary_move(v1::DROP_THEN_ADD);
  Scale(spec);
  BeCareful(spec);
  FollowDemand(spec);
  return spec;
}

std::string History::AnyShard() { return absl::StrCat("s-", input_.Below(4)); }
std::string History::AnyServer() { return Name(input_.Below(kServers)); }

// Mostly written; a leader is seldom deposed.
WriteOutcome History::NextOutcome() {
  using enum WriteOutcome;
  constexpr WriteOutcome kOften[] = {kOk, kOk, kOk, kOk, kFailed, kFailed, kTooLarge, kDeposed};
  return kOften[input_.Below(8)];
}

void History::Step() {
  if (world_.stepped_down) Restart();
  const std::string name = AnyServer();
  World::AppServer& server = world_.servers[name];
  switch (input_.Below(16)) {
    case 0:
      return world_.Apply(NextSpec(), input_.Below(8) == 0);
    case 1:
      world_.hold_writes = input_.Flag();
      return;
    case 2:
      if (!world_.writes.empty()) world_.FinishWrite(NextOutcome());
      return;
    case 3:
      world_.hold_plans = input_.Flag();
      if (!world_.plans.empty()) world_.FinishPlan();
      return;
    case 4:
      return TakeOver();
    case 5:
      return Drain();
    case 6:
      return Refuse(server);
    case 7:
      return Stray();
    case 8:
    case 9:
    case 10:
    case 11:
      return HappenTo(name, server);
    case 12:
      return PullALever();
    case 13:
      return Order();
    default:
      world_.Advance(Milliseconds(20 * input_.Byte()));
  }
}

// By hand.
void History::PullALever() {
  switch (input_.Below(3)) {
    case 0:
      return world_.Send(RetryAsked{AnyShard()});
    case 1: {
      const std::string from = AnyServer();
      return world_.Send(MoveAsked{AnyShard(), from, AnyServer()});
    }
    default: {
      const std::string server = AnyServer();
      world_.Send(QuarantineLifted{server});
      return Forget(world_, server);
    }
  }
}

// A new leader finds some record damaged, or those from before mended.
void History::TakeOver() {
  if (input_.Below(4) != 0) return;
  switch (input_.Below(4)) {
    case 0:
      world_.servers[AnyServer()].record_damaged = true;
      break;
    case 1:
      for (auto& [name, server] : world_.servers) server.record_damaged = false;
      break;
  }
  Restart();
}

// What container operations ask for is stored, too.
void History::Restart() {
  world_.Restart();
  world_.Send(OrdersChanged{orders_});
}

// Ascending by server.
void History::Order() {
  orders_.clear();
  for (uint32_t i = 0; i < kServers; ++i) {
    if (input_.Below(4) != 0) continue;
    ServerOrder& order = orders_.emplace_back();
    order.server = Name(i);
    order.avoid = input_.Flag();
    order.closed = input_.Flag();
    if (!order.closed) continue;
    order.leaving = {.primaries = input_.Flag(), .secondaries = input_.Flag()};
    if (input_.Flag()) order.away_until = world_.now + Milliseconds(20 * input_.Byte());
  }
  world_.Send(OrdersChanged{orders_});
}

void History::HappenTo(const std::string& name, World::AppServer& server) {
  switch (input_.Below(6)) {
    case 0:
      if (server.live) world_.Die(name);
      return;
    case 1:
      if (server.live) world_.Depart(name);
      return;
    case 2:
      server.answers = input_.Flag();
      return;
    case 3:
      server.heard = input_.Flag();
      return;
    default:
      if (!server.live) world_.Join(name, input_.Flag() ? "r1" : "r2", input_.Below(6));
  }
}

void History::Refuse(World::AppServer& server) {
  switch (input_.Below(9)) {
    case 0: {  // a poison shard: nobody can have it
      const std::string shard = AnyShard();
      for (uint32_t i = 0; i < kServers; ++i) world_.servers[Name(i)].refuses = {shard};
      return;
    }
    case 1:
      server.sick = input_.Flag();
      return;
    case 2:
      server.refuses_members = input_.Flag();
      return;
    case 3:
      server.cannot_bring = {AnyServer()};
      return;
    case 4:
      server.stays_primary = input_.Flag();
      return;
    case 5:
      server.cannot_let_go = input_.Flag();
      server.tells_epoch = input_.Flag();
      return;
    case 6:
      server.obeys_another = input_.Flag();
      return;
    case 7:  // what it was granted and does not hold is over for it, as after a late drop
      for (const StoredReplica& r : server.record) {
        if (kind_.quorum)
          break;  // what is gone may be the majority: nobody but an operator goes on
        if (!server.held.contains(r.shard)) server.over[r.shard] = r.epoch;
      }
      return;
    default:
      server.refuses = {AnyShard()};
  }
}

void History::Drain() {
  world_.ordered.drains.clear();
  if (input_.Flag()) {
    v1::Drain& drain = world_.ordered.drains.emplace_back();
    if (input_.Below(4) == 0) {
      drain.mutable_scope()->mutable_domain()->set_region("r2");
    } else {
      drain.mutable_scope()->set_server(AnyServer());
    }
    drain.set_primaries_only(input_.Flag());
  }
  world_.ordered.pause.reset();
  if (input_.Below(4) == 0) world_.ordered.pause.emplace().set_failover(input_.Flag());
  world_.ordered.pins.clear();
  if (input_.Below(4) == 0) world_.ordered.pins.emplace_back().set_shard(AnyShard());
  world_.ordered.maintenances.clear();
  if (input_.Below(4) == 0) Notify();
  world_.Apply(NextSpec());
}

// Notice of a maintenance: ahead, late, or over already.
void History::Notify() {
  v1::Maintenance notice;
  notice.set_id("m");
  if (input_.Flag()) {
    notice.mutable_scope()->mutable_domain()->set_region("r2");
  } else {
    notice.mutable_scope()->set_server(AnyServer());
  }
  notice.set_impact(static_cast<v1::MaintenanceImpact>(1 + input_.Below(4)));
  notice.set_end_ms(1'000 * (1 + input_.Below(60)));
  world_.ordered.maintenances.push_back(
      OnClock(notice, world_.now, 1'000 * static_cast<int64_t>(input_.Below(40)) - 20'000));
}

// Answers of former questions, and of servers that say what they like.
void History::Stray() {
  const Tables& tables = world_.partition().tables();
  if (tables.server_count() == 0 || tables.shard_count() == 0) return;
  const ServerIndex server(input_.Byte() % tables.server_count());
  const Incarnation life(tables.server(server).incarnation.value() - input_.Below(2));
  if (input_.Flag()) return StrayResult(server, life);
  ServerReport report{.server = server, .incarnation = life, .ok = input_.Below(4) != 0};
  for (uint32_t i = input_.Below(4); i > 0; --i) {
    report.held.push_back(
        {"s-" + std::to_string(input_.Below(10)), ShardEpoch(input_.Number()), input_.Flag()});
  }
  if (life == tables.server(server).incarnation) return;  // only a liar would
  world_.Send(std::move(report));
}

// About the very grant that holds, too: but then nothing that only a liar would say.
void History::StrayResult(ServerIndex server, Incarnation life) {
  const Tables& tables = world_.partition().tables();
  const ShardIndex shard(input_.Byte() % tables.shard_count());
  const ReplicaIndex replica = tables.FindReplica(shard, server);
  const bool held = replica.valid() && input_.Flag();
  const uint64_t near = held ? tables.replica(replica).epoch.value() + input_.Below(3) - 1 : 0;
  const ShardEpoch epoch(held ? near : input_.Number());
  auto outcome = static_cast<CommandOutcome>(input_.Below(7));
  const bool to_the_letter = replica.valid() && epoch == tables.replica(replica).epoch &&
                             life == tables.server(server).incarnation;
  if (to_the_letter && !IsUnreachable(outcome)) outcome = CommandOutcome::kFailed;
  world_.Send(CommandResult{.kind = static_cast<CommandKind>(input_.Below(6)),
                            .outcome = outcome,
                            .server = server,
                            .incarnation = life,
                            .shard = shard,
                            .epoch = epoch,
                            .progress = static_cast<float>(input_.Byte()),
                            .error = "stray",
                            .serving_epoch = ShardEpoch(input_.Number())});
}

std::string History::Hanging() {
  std::string text = absl::StrCat("strategy ", kind_.strategy, kind_.quorum ? " with quorum" : "",
                                  kind_.all_begin_anew ? ", all begin anew" : "");
  for (const auto& [name, server] : world_.servers) {
    if (server.sick) absl::StrAppend(&text, ", ", name, " is sick");
    for (const StoredReplica& r : server.record) {
      absl::StrAppend(&text, "\n", name, " ", r.shard, " ", std::string(ToString(r.phase)), " ",
                      std::string(ToString(r.role)));
    }
  }
  for (const LayoutShard& shard : world_.partition().state().layout) {
    for (const std::string& wait : world_.WaitsOf(shard.id.value())) {
      absl::StrAppend(&text, "\n", shard.id.value(), ": ", wait);
    }
  }
  return text;
}

void History::Settle() {
  bool damaged = false;
  for (auto& [name, server] : world_.servers) {
    damaged |= std::exchange(server.record_damaged, false);
  }
  if (damaged || world_.stepped_down) Restart();
  orders_.clear();
  world_.Send(OrdersChanged{});
  world_.hold_writes = world_.hold_plans = false;
  while (!world_.writes.empty()) world_.FinishWrite(WriteOutcome::kOk);
  while (!world_.plans.empty()) world_.FinishPlan();
  for (uint32_t i = 0; i < kServers; ++i) {
    World::AppServer& server = world_.servers[Name(i)];
    server.answers = server.heard = true;
    server.refuses.clear();
    server.cannot_bring.clear();
    server.sick &= i == kind_.stays_sick;
    server.refuses_members = server.stays_primary = false;
    server.cannot_let_go = server.obeys_another = false;
    // (A secondary that has everything, and cannot become the primary, is waited for.)
    const bool goes_on = !kind_.all_begin_anew && server.capacity == 0 && !server.sick;
    if (server.live && goes_on) continue;
    if (server.live) world_.Die(Name(i));
    world_.Join(Name(i));
  }
  const uint32_t replicas = Replicas(2);
  world_.ordered.drains.clear();
  world_.ordered.pause.reset();
  world_.ordered.pins.clear();
  world_.ordered.maintenances.clear();
  v1::AppSpec spec = TestSpec(5, kind_.strategy, replicas);
  spec.mutable_replication()->set_quorum(kind_.quorum);
  world_.Apply(spec);
  world_.Advance(Seconds(300));
  EXPECT_EQ(world_.Served(), world_.partition().state().layout.size()) << Hanging();
  for (const auto& [name, server] : world_.servers) {
    if (server.sick) return;  // it is tried now and then
  }
  world_.commands.clear();
  world_.Advance(Seconds(120));
  EXPECT_THAT(world_.commands, testing::IsEmpty()) << "moves must cease";
  size_t held = 0;
  for (const auto& [name, count] : world_.Counts()) held += count;
  EXPECT_EQ(held, world_.partition().state().layout.size() * replicas);
}

}  // namespace shardmanager::orchestrator
