#include "history.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::testing {
namespace {

constexpr Micros kEver = std::numeric_limits<Micros>::max();
constexpr Micros kBefore = std::numeric_limits<Micros>::min();

std::string Describe(const Operation& op) {
  return absl::StrCat(op.kind == Kind::kPut ? "put" : "get", " of ", op.key, " at [", op.invoked,
                      ", ", op.returned, "] answered by ", op.server, " under token ", op.epoch);
}

// A write and all reads that returned its value: they must happen in one run with
// nothing else of the key in between.
struct Cluster {
  std::string name;
  bool written = false;
  bool read = false;
  bool certain = false;  // an acknowledged operation is among them
  Micros write_invoked = kBefore;
  Micros first_return = kEver;       // the run cannot begin after it
  Micros last_invoke = kBefore;      // the run cannot end before it
  const Operation* first = nullptr;  // acknowledged, that returned first; nothing: there is none
  const Operation* last = nullptr;   // acknowledged, that began last

  void Cover(Micros invoked, Micros returned) {
    first_return = std::min(first_return, returned);
    last_invoke = std::max(last_invoke, invoked);
  }
  void Note(const Operation& op) {
    if (first == nullptr || op.returned < first->returned) first = &op;
    if (last == nullptr || op.invoked > last->invoked) last = &op;
  }
  std::string Witnesses() const {
    if (first == nullptr) return "";
    if (first == last) return absl::StrCat("; ", name, ": ", Describe(*first));
    return absl::StrCat("; ", name, ": ", Describe(*first), ", ..., ", Describe(*last));
  }
};

// By value; the absent value, which nobody has to write, is the empty optional.
using Clusters = std::map<std::optional<std::string>, Cluster>;

std::string Name(const std::optional<std::string>& value) {
  return value ? absl::StrCat("\"", *value, "\"") : "(absent)";
}

Clusters ClustersOf(const std::vector<const Operation*>& operations) {
  Clusters clusters;
  Cluster& absent = clusters[std::nullopt];
  absent.name = Name(std::nullopt);
  absent.written = true;
  absent.Cover(kBefore, kBefore);
  for (const Operation* op : operations) {
    if (op->outcome == Outcome::kRefused) continue;
    const bool ok = op->outcome == Outcome::kOk;
    if (op->kind == Kind::kGet && !ok) continue;  // shows nothing
    Cluster& cluster = clusters[op->value];
    cluster.name = Name(op->value);
    cluster.certain |= ok;
    if (op->kind == Kind::kPut) {
      cluster.written = true;
      cluster.write_invoked = op->invoked;
    } else {
      cluster.read = true;
    }
    cluster.Cover(op->invoked, ok ? op->returned : kEver);
    if (ok) cluster.Note(*op);
  }
  return clusters;
}

struct Zone {
  Micros begin;
  Micros end;
  const Cluster* cluster;
};

std::string Span(const Zone& zone) {
  auto text = [](Micros t) {
    return t == kBefore ? std::string("start") : t == kEver ? "end" : absl::StrCat(t);
  };
  return absl::StrCat("[", text(zone.begin), ", ", text(zone.end), "]");
}

std::string Conflict(const Zone& a, const Zone& b) {
  return absl::StrCat("value ", a.cluster->name, " must have stood through ", Span(a),
                      " and value ", b.cluster->name, " within ", Span(b), a.cluster->Witnesses(),
                      b.cluster->Witnesses());
}

// In a forward zone (first return before last invocation) the register must have
// held this value from its begin to its end. In a backward zone the whole cluster
// can be put at one instant inside it. So: forward zones must not overlap, and no
// backward zone may lie wholly inside a forward one.
Verdict CheckZones(std::vector<Zone> forward, const std::vector<Zone>& backward) {
  std::sort(forward.begin(), forward.end(),
            [](const Zone& a, const Zone& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < forward.size(); ++i) {
    if (forward[i].begin < forward[i - 1].end) return Conflict(forward[i - 1], forward[i]);
  }
  for (const Zone& zone : backward) {
    auto after = std::upper_bound(forward.begin(), forward.end(), zone.begin,
                                  [](Micros t, const Zone& z) { return t < z.begin; });
    if (after == forward.begin()) continue;
    const Zone& around = *std::prev(after);
    if (around.begin < zone.begin && zone.end < around.end) return Conflict(around, zone);
  }
  return std::nullopt;
}

Verdict CheckRegister(const std::vector<const Operation*>& operations) {
  const Clusters clusters = ClustersOf(operations);
  std::vector<Zone> forward, backward;
  for (const auto& [value, cluster] : clusters) {
    if (!cluster.certain && value) continue;  // an unknown put that nobody saw
    if (!cluster.written) return absl::StrCat("read ", cluster.name, ", which nobody wrote");
    if (cluster.read && cluster.first_return < cluster.write_invoked) {
      return absl::StrCat("read ", cluster.name, " before it was written");
    }
    if (cluster.first_return < cluster.last_invoke) {
      forward.push_back({cluster.first_return, cluster.last_invoke, &cluster});
    } else {
      backward.push_back({cluster.last_invoke, cluster.first_return, &cluster});
    }
  }
  return CheckZones(std::move(forward), backward);
}

// Remembers which server used which token of which shard.
class TokenHolders {
 public:
  Verdict Add(const std::string& shard, uint64_t epoch, const std::string& server) {
    auto [it, fresh] = holders_.try_emplace({shard, epoch}, server);
    if (fresh || it->second == server) return std::nullopt;
    return absl::StrCat("shard ", shard, ": both ", it->second, " and ", server, " used token ",
                        epoch);
  }

 private:
  std::map<std::pair<std::string, uint64_t>, std::string> holders_;
};

// REQUIRES: all of one shard and acknowledged.
Verdict CheckTokenOrder(std::vector<const Operation*> operations) {
  std::vector<const Operation*> by_return = operations;
  auto invoked = [](const Operation* a, const Operation* b) { return a->invoked < b->invoked; };
  auto returned = [](const Operation* a, const Operation* b) { return a->returned < b->returned; };
  std::sort(operations.begin(), operations.end(), invoked);
  std::sort(by_return.begin(), by_return.end(), returned);
  const Operation* highest = nullptr;  // among those that returned before op began
  auto next = by_return.begin();
  for (const Operation* op : operations) {
    for (; next != by_return.end() && (*next)->returned < op->invoked; ++next) {
      if (highest == nullptr || (*next)->epoch > highest->epoch) highest = *next;
    }
    if (highest != nullptr && op->epoch < highest->epoch) {
      return absl::StrCat("shard ", op->shard, ": after ", Describe(*highest), " came ",
                          Describe(*op));
    }
  }
  return std::nullopt;
}

}  // namespace

Verdict CheckRegisters(const std::vector<Operation>& history) {
  std::map<std::string, std::vector<const Operation*>> keys;
  for (const Operation& op : history) keys[op.key].push_back(&op);
  for (const auto& [key, operations] : keys) {
    if (Verdict wrong = CheckRegister(operations)) return absl::StrCat("key ", key, ": ", *wrong);
  }
  return std::nullopt;
}

Verdict CheckTokens(const std::vector<Operation>& history) {
  TokenHolders holders;
  std::map<std::string, std::vector<const Operation*>> shards;
  for (const Operation& op : history) {
    if (op.outcome != Outcome::kOk) continue;
    if (Verdict wrong = holders.Add(op.shard, op.epoch, op.server)) return wrong;
    shards[op.shard].push_back(&op);
  }
  for (const auto& [shard, operations] : shards) {
    if (Verdict wrong = CheckTokenOrder(operations)) return wrong;
  }
  return std::nullopt;
}

Verdict CheckRefusals(const std::vector<Operation>& history) {
  for (const Operation& op : history) {
    if (op.outcome != Outcome::kRefused) continue;
    return absl::StrCat(
        "the put of ", op.key, " at [", op.invoked, ", ", op.returned,
        "] was processed by a server that had no right to it any more: ", op.refusal);
  }
  return std::nullopt;
}

Verdict CheckAudit(const std::vector<AuditRow>& audit) {
  TokenHolders holders;
  std::map<std::string, uint64_t> highest;
  for (const AuditRow& row : audit) {
    if (!row.accepted) continue;
    if (Verdict wrong = holders.Add(row.shard, row.epoch, row.server)) return wrong;
    uint64_t& token = highest[row.shard];
    if (row.epoch < token) {
      return absl::StrCat("shard ", row.shard, ": ", row.server, " committed a ", row.what,
                          " under token ", row.epoch, " after token ", token);
    }
    token = row.epoch;
  }
  return std::nullopt;
}

Verdict CheckCommits(const std::vector<Operation>& history, const std::vector<AuditRow>& audit) {
  struct Puts {
    int acknowledged = 0;
    int unknown = 0;
    int committed = 0;
  };
  std::map<std::string, Puts> keys;
  for (const Operation& op : history) {
    if (op.kind != Kind::kPut) continue;
    if (op.outcome == Outcome::kOk) ++keys[op.key].acknowledged;
    if (op.outcome == Outcome::kUnknown) ++keys[op.key].unknown;
  }
  for (const AuditRow& row : audit) {
    if (row.what == "put" && row.accepted) ++keys[row.key].committed;
  }
  for (const auto& [key, puts] : keys) {
    if (puts.committed >= puts.acknowledged && puts.committed <= puts.acknowledged + puts.unknown) {
      continue;
    }
    return absl::StrCat("key ", key, ": ", puts.acknowledged, " puts were acknowledged, ",
                        puts.unknown, " may have happened, and ", puts.committed,
                        " were committed");
  }
  return std::nullopt;
}

}  // namespace shardmanager::testing
