// The members that a shard's primary goes by, as far as it has said so (UpdateMembership).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "orchestrator/state/tables.h"

namespace shardmanager::orchestrator {

// A server, in one of its lives.
struct Member {
  ServerIndex server;
  Incarnation life;
  friend auto operator<=>(const Member&, const Member&) = default;
};
using MemberList = std::vector<Member>;  // ascending

// What the primary was told. See decide/members.h.
struct ToldMembers {
  // A secondary that the primary could not bring into step. It waits longer after each failure,
  // and the other secondaries are tried meanwhile.
  struct Failed {
    Member member;
    uint8_t failures = 0;  // in a row
    TimePoint retry_at{};
    std::string error;
  };

  ShardEpoch epoch;    // of the primary's grant
  bool known = false;  // the primary said yes to `told` in this life, to this leader
  MemberList told;
  MemberList asked;                  // by the command that is out
  std::optional<Member> candidate;   // the one of `asked` that is to come into step
  std::optional<Member> tried_last;  // of the candidates
  Contact contact = Contact::kIdle;
  uint8_t failures = 0;  // in a row, for which no candidate is to blame
  std::string error;
  std::vector<Failed> failed;

  const Failed* FindFailed(const Member& member) const {
    const auto found = std::find_if(failed.begin(), failed.end(),
                                    [&](const Failed& f) { return f.member == member; });
    return found == failed.end() ? nullptr : &*found;
  }
  // Forgets the failures of the server, in whatever life.
  void Forgive(ServerIndex server) {
    std::erase_if(failed, [&](const Failed& f) { return f.member.server == server; });
  }
};

}  // namespace shardmanager::orchestrator
