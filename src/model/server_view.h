// How clients get on with one server: the counts of ServerSeen in discovery.proto.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/time.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager {

// What a request that went wrong met.
enum class Problem : uint8_t {
  kNoConnection,
  kNoAnswer,  // in time
  kBroken,    // the connection, under the request
  kErrors,    // the answer was an error that is the server's own
  kSlow,      // an answer came, late
};
inline constexpr size_t kProblems = 5;
// "no connection", "no answer in time", "broken connections", "errors", "slow answers".
const char* ToString(Problem problem);

// Errors and slow answers may come from what is in a shard, and go with it to another server.
inline bool MayFollowShards(Problem problem) { return problem >= Problem::kErrors; }

// How long a report counts, if no other one of the same reporter comes.
inline constexpr Duration kReportCounts = Seconds(15);

struct ServerView {
  std::array<uint64_t, kProblems> trouble{};  // clients that cannot use it, by Problem
  uint64_t well = 0;                          // clients that can

  uint64_t in_trouble() const;
  // What most of those in trouble met; of two the first in the order of Problem. REQUIRES: any is.
  Problem main_problem() const;

  ServerView& operator+=(const ServerView& other);
  // REQUIRES: `other` is contained.
  ServerView& operator-=(const ServerView& other);
  friend bool operator==(const ServerView&, const ServerView&) = default;
};

ServerView ViewOf(const v1::ServerSeen& seen);
v1::ServerSeen ToProto(const std::string& server, const ServerView& view);

// "3 clients cannot use it (no answer in time), 1 can".
std::string ToString(const ServerView& view);

}  // namespace shardmanager
