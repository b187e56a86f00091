// Whether balance moves a shard back to a server that the shard has left, for balance, within the
// hour (decision 0033): seen by what leaders say of moves, and by the records of servers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace shardmanager::orchestrator {

class Returns {
 public:
  // A server's record names the shard; the server lives.
  using Lists = std::function<bool(const std::string& shard, const std::string& server)>;
  using Lives = std::function<bool(const std::string& server)>;

  // `detail`: of the note that the shard's move to `to` begins. (Whether it does, records tell.)
  void Announced(TimePoint now, const std::string& shard, const std::string& to,
                 const std::string& detail) {
    moves_.erase(shard);
    const size_t end = detail.find(": ");
    const std::string reason = detail.substr(end + 2);
    if (reason != "balance" && reason != "utilization") return;
    constexpr size_t kFrom = sizeof("from ") - 1;
    moves_[shard] = {.from = detail.substr(kFrom, end - kFrom), .to = to, .announced = now};
  }
  // After each step. What returns is added to found().
  void Look(TimePoint now, const Lists& lists, const Lives& lives) {
    for (auto it = moves_.begin(); it != moves_.end();) {
      const auto& shard = it->first;
      Move& move = it->second;
      const bool here = lists(shard, move.from);
      const bool there = lists(shard, move.to);
      if (!move.begun && here && there && lives(move.from)) Begin(now, shard, move);
      const bool done = move.begun && there && !here && lives(move.from);
      if (done) left_[{shard, move.from}] = move.begun_at;
      // (What is given to that server later on may take the place of a replica that is missing.)
      const bool dropped = !move.begun && now > move.announced + Seconds(1);
      const bool over = done || dropped || (move.begun && (!there || !lives(move.from)));
      it = over ? moves_.erase(it) : std::next(it);
    }
  }
  // What was wrong.
  const std::vector<std::string>& found() const { return found_; }

 private:
  struct Move {
    std::string from, to;
    TimePoint announced;
    bool begun = false;  // both records name the shard
    TimePoint begun_at{};
  };
  void Begin(TimePoint now, const std::string& shard, Move& move) {
    move.begun = true;
    move.begun_at = now;
    const auto left = left_.find({shard, move.to});
    if (left == left_.end() || now - left->second >= Seconds(3'600)) return;
    found_.push_back(shard + " goes back to " + move.to + ", which it left a moment ago");
  }

  std::map<std::string, Move> moves_;                              // by shard
  std::map<std::pair<std::string, std::string>, TimePoint> left_;  // by shard and server
  std::vector<std::string> found_;
};

}  // namespace shardmanager::orchestrator
