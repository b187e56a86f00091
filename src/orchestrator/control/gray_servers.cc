#include "orchestrator/control/gray_servers.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/text.h"

namespace shardmanager::orchestrator {
namespace {

Duration LengthOfDrain(int drains_before) {
  const int doublings = std::min(drains_before, GrayServers::kMostDoublings);
  return GrayServers::kFirstDrain * (int64_t{1} << doublings);
}

int64_t LengthMs(int drains_before) { return LengthOfDrain(drains_before) / Milliseconds(1); }

// Of a drain that an earlier leader began: how many there had been, with it.
int DrainsUpTo(const v1::Drain& drain) {
  const int64_t length_ms = drain.by_clients().until_ms() - drain.since_ms();
  int drains = 1;
  while (drains <= GrayServers::kMostDoublings && LengthMs(drains) <= length_ms) ++drains;
  return drains;
}

}  // namespace

GrayServers::Orders GrayServers::Decide(const World& world) {
  TakeIn(world);
  Orders orders;
  Held held = EndThoseThatAreOver(world, orders);
  EndThoseThatDidNotHelp(world, held, orders);
  const auto complained =
      static_cast<size_t>(std::count_if(cases_.begin(), cases_.end(), [](const auto& entry) {
        return entry.second.complained_of && !entry.second.drained;
      }));
  conditions_.clear();
  for (auto& [server, found] : cases_) {
    if (found.drained || found.view.in_trouble() <= found.view.well) continue;
    const std::string why_not = WhyNot(world, found, complained, held.size());
    if (why_not.empty()) orders.begin.push_back(Begin(world, server, found));
    conditions_.push_back(absl::StrCat(server, ": ", ToString(found.view), "; it is ",
                                       why_not.empty() ? "drained" : "not drained: ", why_not));
  }
  return orders;
}

// ---- what is known ----

void GrayServers::TakeIn(const World& world) {
  absl::flat_hash_set<std::string> live;
  for (const Server& server : world.live) {
    live.insert(server.name);
    Hear(world, server, cases_[server.name]);
  }
  for (auto& [server, found] : cases_) {
    if (live.contains(server)) continue;
    found = {.drains = found.drains, .drain_ended = found.drain_ended};
  }
  for (const v1::Drain& drain : world.drains) {
    Case& found = cases_[drain.scope().server()];
    found.drained = true;
    found.drains = std::max(found.drains, DrainsUpTo(drain));
    found.drain_ended = world.now;
  }
  std::erase_if(cases_, [&](const auto& entry) {
    const Case& found = entry.second;
    const bool forgotten = world.now - found.drain_ended >= LengthOfDrain(found.drains - 1);
    return !live.contains(entry.first) && (found.drains == 0 || forgotten);
  });
}

void GrayServers::Hear(const World& world, const Server& server, Case& found) {
  if (std::exchange(found.life, server.life) != server.life) {
    found.believed_from = world.now + kAfterStart;
  }
  found.drained = server.drained;
  const auto said = world.said.find(server.name);
  const bool believed = said != world.said.end() && world.now >= found.believed_from;
  found.view = believed ? said->second : ServerView();
  const uint64_t in_trouble = found.view.in_trouble();
  const bool enough = in_trouble >= world.rules.min_clients && in_trouble > found.view.well;
  if (enough && !found.complained_of) found.since = world.now;
  found.complained_of = enough;
}

bool GrayServers::MayFollowShards(const std::string& server) const {
  const ServerView& view = cases_.at(server).view;
  return view.in_trouble() > 0 && shardmanager::MayFollowShards(view.main_problem());
}

// ---- drains that end ----

GrayServers::Held GrayServers::EndThoseThatAreOver(const World& world, Orders& orders) {
  Held held;
  for (const v1::Drain& drain : world.drains) {
    const std::string& server = drain.scope().server();
    if (const char* why = WhyOver(world, drain)) {
      orders.end.push_back({server, why});
    } else if (cases_.at(server).life != 0) {
      held.push_back(&drain);
    }
  }
  std::sort(held.begin(), held.end(), [](const v1::Drain* a, const v1::Drain* b) {
    return std::pair(a->since_ms(), a->scope().server()) <
           std::pair(b->since_ms(), b->scope().server());
  });
  const size_t limit = world.rules.Most(world.live.size());
  for (; held.size() > limit; held.erase(held.begin())) {
    orders.end.push_back({held.front()->scope().server(), "too few other servers live"});
  }
  return held;
}

const char* GrayServers::WhyOver(const World& world, const v1::Drain& drain) const {
  const Case& found = cases_.at(drain.scope().server());
  if (!world.rules.drain) return "client_reports.action is SHOW";
  if (found.life != 0 && found.life != drain.by_clients().life()) return "it has a new process";
  const int64_t left_ms = drain.by_clients().until_ms() - world.wall_ms;
  // (A clock that was set back must not keep it for ever.)
  const bool runs = left_ms > 0 && left_ms <= LengthMs(kMostDoublings);
  return runs || found.complained_of ? nullptr : "it is tried again";
}

// Errors that come from another server once this one is drained come with the shards, or from what
// clients ask.
void GrayServers::EndThoseThatDidNotHelp(const World& world, Held& held, Orders& orders) {
  const bool others_fail = std::any_of(cases_.begin(), cases_.end(), [&](const auto& entry) {
    return entry.second.complained_of && !entry.second.drained && MayFollowShards(entry.first);
  });
  if (!others_fail) return;
  const auto followed = [&](const v1::Drain* drain) {
    if (!drain->by_clients().may_follow_shards()) return false;
    orders.end.push_back(
        {drain->scope().server(), "other servers fail in the same way since then"});
    following_until_ = world.now + kFollowing;
    return true;
  };
  held.erase(std::remove_if(held.begin(), held.end(), followed), held.end());
}

// ---- drains that begin ----

std::string GrayServers::WhyNot(const World& world, const Case& found, size_t complained,
                                size_t held) const {
  if (!found.complained_of) {
    return absl::StrCat("fewer clients than client_reports.min_clients, ", world.rules.min_clients);
  }
  if (!world.rules.drain) return "client_reports.action is SHOW";
  const size_t limit = world.rules.Most(world.live.size());
  if (complained + held > limit) {
    return absl::StrCat("clients cannot use ", shardmanager::Counted(complained + held, "server"),
                        ", and ", limit, " of ", world.live.size(),
                        " may be drained for that (client_reports.max_servers): it may be a "
                        "network that many clients share");
  }
  if (shardmanager::MayFollowShards(found.view.main_problem()) &&
      (complained > 1 || world.now < following_until_)) {
    return "other servers fail in the same way, or did when one was drained for it: that may come "
           "from the shards, or from what clients ask";
  }
  const Duration left = world.rules.patience - (world.now - found.since);
  if (left <= Duration(0)) return "";
  return absl::StrFormat("that has to last for another %.0f s", InSeconds(left));
}

v1::Drain GrayServers::Begin(const World& world, const std::string& server, Case& found) const {
  if (found.drains > 0 && world.now - found.drain_ended > LengthOfDrain(found.drains - 1)) {
    found.drains = 0;  // it was well for longer than it had been drained
  }
  v1::Drain drain;
  drain.mutable_scope()->set_server(server);
  drain.set_reason(ToString(found.view));
  drain.set_since_ms(world.wall_ms);
  v1::ClientTrouble& trouble = *drain.mutable_by_clients();
  trouble.set_life(found.life);
  trouble.set_until_ms(world.wall_ms + LengthMs(found.drains));
  trouble.set_may_follow_shards(shardmanager::MayFollowShards(found.view.main_problem()));
  return drain;
}

}  // namespace shardmanager::orchestrator
