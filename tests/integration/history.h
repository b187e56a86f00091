// What clients saw, and whether a correct service could have shown it to them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace shardmanager::testing {

// Microseconds on one clock for all clients of a history.
using Micros = int64_t;

enum class Kind { kPut, kGet };

enum class Outcome {
  kOk,       // acknowledged
  kUnknown,  // may or may not have happened, perhaps later (a broken connection)
  kRefused,  // certainly did not happen
};

// One call of one client.
struct Operation {
  Kind kind = Kind::kGet;
  std::string key;
  // Put: what was written; unique in its key. Get: what was read; nothing: no such key.
  std::optional<std::string> value;
  Outcome outcome = Outcome::kOk;
  // The call began and returned. `returned` is ignored unless the outcome is kOk.
  Micros invoked = 0;
  Micros returned = 0;
  // Who answered, with kOk.
  std::string shard;
  std::string server;
  uint64_t epoch = 0;
  // With kRefused: what the client was told.
  std::string refusal;
};

// What is wrong, for a person; nothing: all is well.
using Verdict = std::optional<std::string>;

// Is the history of each key that of an atomic register which starts out absent?
// That is: could every acknowledged operation (and any of the unknown puts) have
// happened at one instant between its call and its return?
//
// Exact and O(n log n), because values are unique: P. B. Gibbons and E. Korach,
// "Testing shared memories", SIAM J. Comput. 26(4), 1997, in the form of zones (see
// history.cc). REQUIRES: put values are unique within a key.
Verdict CheckRegisters(const std::vector<Operation>& history);

// Fencing tokens as the clients saw them, for reads and writes alike:
//  * no two servers answer for one shard under the same token;
//  * an operation that began after another of the same shard had returned was
//    answered under no lower token: the former owner processes nothing more once
//    the new one has.
Verdict CheckTokens(const std::vector<Operation>& history);

// No put was refused by its shard's database (Outcome::kRefused) while its client waited
// for it: a server that is not stopped after the admission finishes within its lease.
Verdict CheckRefusals(const std::vector<Operation>& history);

// One row of kvstore's audit table, in the order of the commits.
struct AuditRow {
  std::string shard;
  uint64_t epoch = 0;
  std::string server;
  std::string what;  // "open", "put" or "delete"
  std::string key;
  bool accepted = false;
};

// Committed tokens of a shard never go down, and no two servers share one.
// REQUIRES: rows of one shard are in the order of their commits.
Verdict CheckAudit(const std::vector<AuditRow>& audit);

// Every acknowledged put was committed, and no put more than once: as many puts of a key
// were committed as clients had acknowledged, or up to as many as they do not know of
// more. REQUIRES: `history` has every put of these databases.
Verdict CheckCommits(const std::vector<Operation>& history, const std::vector<AuditRow>& audit);

}  // namespace shardmanager::testing
