#include "taskcontroller/decide/docket.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/defect.h"

namespace shardmanager::taskcontroller {
namespace {

// Approved (0), preparing (1), overdue (2), waiting (3).
int GroupOf(const Entry& entry, const Policy& policy, TimePoint now) {
  if (entry.held != nullptr) return entry.held->stage == HeldStage::kApproved ? 0 : 1;
  const bool overdue = now - entry.wanted->since >= policy.most_wait();
  const bool hurries =
      entry.wanted->deadline != kNever && entry.wanted->deadline - now <= policy.most_wait();
  return overdue || hurries ? 2 : 3;
}

// Why it cannot even be considered; nothing: it can.
std::optional<Delay> Obstacle(const ReportedOperation& reported, const FleetView& view) {
  const ServerIndex id = view.Find(reported.info.server);
  if (!id.valid()) return Delay{.reason = DelayReason::kUnknownServer};
  const SeenServer& server = view.server(id);
  if (server.unread) {
    return Delay{.reason = DelayReason::kClosed,
                 .text = "a record of the server cannot be read: nobody knows all that it holds"};
  }
  if (reported.info.life == Incarnation(0)) return Delay{.reason = DelayReason::kLifeUnknown};
  // (Of a server that is down, and whose registration cannot be read, nobody knows the last life.)
  if (reported.info.life > server.incarnation && server.live) {
    return Delay{.reason = DelayReason::kLifeNotSeen};
  }
  if (reported.info.life < server.incarnation && !Planted(Defect::kApprovesFormerLives))
    return Delay{.reason = DelayReason::kFormerLife};
  return std::nullopt;
}

// What the operation takes away, and what has to leave before.
void AddReplicas(const FleetView& view, const Away& away, bool primaries_turn, Entry& entry) {
  entry.away = away.server(entry.server);
  if (!view.server(entry.server).live) return;  // nothing can leave it, and nothing is taken away
  for (const SeenReplica& replica : view.held(entry.server)) {
    entry.in_transition += replica.in_transition;
    const bool primary = replica.role == Role::kPrimary;
    const bool turns = primary && entry.leaving.primaries && primaries_turn;
    const bool leaves =
        primary && !primaries_turn ? entry.leaving.primaries : entry.leaving.secondaries;
    entry.left += leaves || turns;
    if ((leaves || turns) && view.shards[replica.shard.index()].pinned) {
      entry.pinned = replica.shard;
    }
    if (!leaves && replica.healthy) entry.shards.push_back(replica.shard);
  }
}

using Rank = std::tuple<int, TimePoint, TimePoint>;

Rank RankOf(const Entry& entry, const Policy& policy, TimePoint now) {
  const int group = GroupOf(entry, policy, now);
  if (entry.held != nullptr) return {group, entry.held->since, TimePoint::min()};
  return {group, entry.wanted->deadline, entry.wanted->since};
}

class Maker {
 public:
  Maker(const Policy& policy, const ReportBook& reports, const HeldOperations& held,
        const FleetView& view, const Away& away, TimePoint now)
      : policy_(policy), reports_(reports), held_(held), view_(view), away_(away), now_(now) {}

  Docket Make() {
    for (const auto& [key, operation] : held_) AddHeld(key, operation);
    for (const auto& [name, manager] : reports_.managers()) {
      if (reports_.IsSilent(name, now_)) continue;
      for (const auto& [id, wanted] : manager.operations) AddWanted({name, id}, wanted);
    }
    Sort();
    LeaveOnePerServer();
    for (Entry& entry : docket_.entries) {
      AddReplicas(view_, away_, policy_.primaries_turn(), entry);
    }
    LeaveOutPinned();
    return std::move(docket_);
  }

 private:
  void AddHeld(const OperationKey& key, const HeldOperation& operation) {
    const ServerIndex server = view_.Find(operation.info.server);
    if (server.valid()) first_of_.emplace(server, key);
    if (!server.valid() && operation.stage != HeldStage::kBegun) {
      docket_.excluded.push_back({key, {.reason = DelayReason::kUnknownServer}});
    }
    if (operation.stage == HeldStage::kBegun || operation.forced || !server.valid()) return;
    docket_.entries.push_back({.key = key,
                               .info = operation.info,
                               .held = &operation,
                               .wanted = reports_.Find(key),
                               .server = server,
                               .leaving = operation.leaving,
                               .urgent = true});
  }

  void AddWanted(const OperationKey& key, const WantedOperation& wanted) {
    const OperationInfo& info = wanted.reported.info;
    if (!wanted.reported.NeedsApproval() || held_.contains(key)) return;
    if (auto delay = Obstacle(wanted.reported, view_)) {
      docket_.excluded.push_back({key, *std::move(delay)});
      return;
    }
    Entry entry{.key = key,
                .info = info,
                .wanted = &wanted,
                .server = view_.Find(info.server),
                .leaving = policy_.WhatLeaves(info.kind, info.expected)};
    entry.urgent = GroupOf(entry, policy_, now_) == 2;
    docket_.entries.push_back(std::move(entry));
  }

  void Sort() {
    std::vector<std::pair<Rank, size_t>> ranks;
    for (size_t i = 0; i < docket_.entries.size(); ++i) {
      ranks.emplace_back(RankOf(docket_.entries[i], policy_, now_), i);
    }
    std::sort(ranks.begin(), ranks.end());
    std::vector<Entry> sorted;
    sorted.reserve(ranks.size());
    for (const auto& [rank, i] : ranks) sorted.push_back(std::move(docket_.entries[i]));
    docket_.entries = std::move(sorted);
  }

  void LeaveOnePerServer() {
    std::erase_if(docket_.entries, [&](const Entry& entry) {
      const auto [first, is_first] = first_of_.try_emplace(entry.server, entry.key);
      if (is_first || first->second == entry.key) return false;
      docket_.excluded.push_back({entry.key,
                                  {.reason = DelayReason::kOtherOperation,
                                   .servers = {entry.server},
                                   .text = first->second.manager + "/" + first->second.id}});
      return true;
    });
  }

  // What can never be prepared takes no room from others. (One that is being prepared stalls.)
  void LeaveOutPinned() {
    std::erase_if(docket_.entries, [&](const Entry& entry) {
      if (!entry.pinned.valid() || entry.held != nullptr) return false;
      docket_.excluded.push_back(
          {entry.key, {.reason = DelayReason::kPinned, .shard = entry.pinned}});
      return true;
    });
  }

  const Policy& policy_;
  const ReportBook& reports_;
  const HeldOperations& held_;
  const FleetView& view_;
  const Away& away_;
  const TimePoint now_;
  std::map<ServerIndex, OperationKey> first_of_;  // the operation of a server that goes first
  Docket docket_;
};

}  // namespace

Docket MakeDocket(const Policy& policy, const ReportBook& reports, const HeldOperations& held,
                  const FleetView& view, const Away& away, TimePoint now) {
  return Maker(policy, reports, held, view, away, now).Make();
}

}  // namespace shardmanager::taskcontroller
