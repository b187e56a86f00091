// The members that a shard's primary goes by, as far as it has said so (UpdateMembership).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orchestrator/tables.h"

namespace shardmanager::orchestrator {

// What it was told. See members.cc.
struct Membership {
  struct Member {
    ServerIndex server;
    Incarnation life;
    friend auto operator<=>(const Member&, const Member&) = default;
  };
  using List = std::vector<Member>;  // ascending

  ShardEpoch epoch;    // of the primary's grant
  bool known = false;  // it said yes to `told` in this life, to this leader
  List told;
  List asked;  // by what is out
  Contact contact = Contact::kIdle;
  uint8_t failures = 0;
  std::string error;
};

}  // namespace shardmanager::orchestrator
