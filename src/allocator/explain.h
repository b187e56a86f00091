// Why a shard's replicas stand where they do, and why not elsewhere: asked of the rules
// that plans are made by. Pure, as Solve().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/allocator.h"

namespace shardmanager::allocator {

// What one rule says about a replica on a server.
struct Argument {
  std::string goal;     // "constraint", "region preference", "balance", ...
  std::string rule;     // Example: "balance(server, cpu)"
  double cost = 0;      // there
  double cost_now = 0;  // where it is; 0 if it is nowhere
};

struct ExplainedReplica {
  ServerIndex server;               // invalid: it has no place yet
  std::vector<Argument> arguments;  // what is not zero, the most important first
};

enum class Verdict : uint8_t {
  kBetter,   // a plan would move it there, if nothing is better still
  kEqual,    // no goal gains, so it stays
  kWorse,    // a goal that counts more loses
  kRefused,  // a constraint would be broken
  kHolds,    // a replica of the shard is there
};

struct Candidate {
  ServerIndex server;
  ServerIndex from;  // of the replica that would come; invalid: a missing one
  Verdict verdict = Verdict::kEqual;
  std::string reason;         // what decides; a sentence for a person
  std::string short_of = "";  // with kRefused, where it has no room: the metric. Example: "cpu"
  bool closed = false;        // with kRefused: it takes no shards, whichever they are
  std::vector<Argument> arguments;  // what differs, the most important first
};

struct RefusedCount {
  std::string rule;
  uint32_t servers = 0;
};

struct Explanation {
  std::vector<ExplainedReplica> replicas;  // as the snapshot lists them, missing ones last
  std::vector<Candidate> candidates;       // the best first
  uint32_t servers_considered = 0;
  // Constraints and how many servers they rule out: for the replica that would best come to a
  // server, as its Candidate. The most frequent first.
  std::vector<RefusedCount> refused;
};

struct ExplainOptions {
  ServerIndex only;  // valid: this candidate alone
  ServerIndex from;  // valid: only its replica may come, and no missing one
  size_t most_candidates = 5;
};

std::string_view ToString(Verdict verdict);

// REQUIRES: the snapshot lists one shard; `only` is one of its servers. Moves under way
// and move budgets are the caller's to tell.
Explanation Explain(const Snapshot& snapshot, const ExplainOptions& options);

}  // namespace shardmanager::allocator
