// Which servers are drained because their clients cannot use them although their sessions live:
// gray failures. Rules and limits: ClientReportPolicy in app_spec.proto, docs/decisions/0027.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/server_view.h"
#include "model/spec/client_reports.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager::orchestrator {

// Of one app. Deterministic: what there is in, orders out. Not thread-safe.
//
// The orders are drains that the spec's record keeps (Drain.by_clients), so a new leader goes on
// where the last one stopped. What is kept here is for how long clients have said what they say.
class GrayServers {
 public:
  static constexpr Duration kFirstDrain = Seconds(300);
  static constexpr int kMostDoublings = 5;  // of the time after which it is tried again
  // Of a new process nothing is believed for so long: reports of the one before still count.
  static constexpr Duration kAfterStart = kReportCounts + Seconds(5);
  // Errors that were seen to go with the shards are blamed on no server for so long.
  static constexpr Duration kFollowing = Seconds(3600);

  struct Server {
    std::string name;
    uint64_t life = 0;
    bool drained = false;  // otherwise than for its clients
  };
  struct World {
    TimePoint now{};
    int64_t wall_ms = 0;
    ClientReportRules rules;
    std::vector<Server> live;
    std::map<std::string, ServerView> said;  // of any server that somebody speaks of
    std::vector<v1::Drain> drains;           // those by clients
  };

  struct End {
    std::string server;
    std::string why;
  };
  struct Orders {
    std::vector<v1::Drain> begin;
    std::vector<End> end;

    bool empty() const { return begin.empty() && end.empty(); }
  };
  // The orders are given again each time, until `world` shows that they were carried out.
  Orders Decide(const World& world);

  // For people, as of the last Decide(): what clients say of servers that are not drained, and what
  // follows from that.
  const std::vector<std::string>& conditions() const { return conditions_; }

 private:
  // What is known of one server.
  struct Case {
    uint64_t life = 0;           // 0: it does not live
    TimePoint believed_from{};   // what is said of this life
    ServerView view;             // as it is said now, and believed
    bool complained_of = false;  // by enough clients
    TimePoint since{};           // that, without a break
    bool drained = false;        // for whatever reason
    // How often it was drained for its clients, each time again after less time than that had
    // lasted.
    int drains = 0;
    TimePoint drain_ended{};
  };
  // Drains by clients of servers that live, the oldest first.
  using Held = std::vector<const v1::Drain*>;

  void TakeIn(const World& world);
  static void Hear(const World& world, const Server& server, Case& found);
  Held EndThoseThatAreOver(const World& world, Orders& orders);
  // Null: it goes on.
  const char* WhyOver(const World& world, const v1::Drain& drain) const;
  void EndThoseThatDidNotHelp(const World& world, Held& held, Orders& orders);
  // Why it is not drained now; empty: it is.
  std::string WhyNot(const World& world, const Case& found, size_t complained, size_t held) const;
  v1::Drain Begin(const World& world, const std::string& server, Case& found) const;
  bool MayFollowShards(const std::string& server) const;

  std::map<std::string, Case> cases_;  // of servers that live, or were drained not long ago
  TimePoint following_until_{};
  std::vector<std::string> conditions_;
};

}  // namespace shardmanager::orchestrator
