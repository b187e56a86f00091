#include "allocator/solver/target_index.h"

#include <algorithm>

namespace shardmanager::solver {
namespace {

constexpr uint32_t kMostBuckets = 64;   // a scope with more domains is too fine
constexpr size_t kAllBucketsUpTo = 8;   // with more of them, some are looked at
constexpr size_t kLooksPerBucket = 4;   // containers offered from each
constexpr size_t kSkipsPerBucket = 12;  // full ones passed over for it

}  // namespace

TargetIndex::TargetIndex(const State& state, bool grouped, uint64_t seed)
    : state_(state), grouped_(grouped), random_(seed), scope_(kContainerScope) {
  const Problem& p = state.problem();
  for (uint32_t c = 0; c < p.containers; ++c) {
    if (p.Open(ContainerId(c))) open_.push_back(ContainerId(c));
  }
  PickScope();
  buckets_.resize(scope_ == kContainerScope ? 1 : state.model().DomainCount(scope_));
  for (ContainerId c : open_) {
    const uint32_t b = scope_ == kContainerScope ? 0 : state.model().DomainOf(scope_, c).index();
    buckets_[b].by_fill.push_back(c);
  }
  std::erase_if(buckets_, [](const Bucket& b) { return b.by_fill.empty(); });
  for (Bucket& bucket : buckets_) Sort(bucket);
  members_.resize(p.scope_count());
  for (const GroupRule& rule : state.model().group_rules()) {
    const uint32_t s = rule.scope.index();
    if (rule.kind != GroupRule::Kind::kAffinity || !members_[s].empty()) continue;
    members_[s].resize(state.model().DomainCount(rule.scope));
    for (ContainerId c : open_) {
      members_[s][state.model().DomainOf(rule.scope, c).index()].push_back(c);
    }
  }
}

// The finest scope that a rule looks at and that has few domains.
void TargetIndex::PickScope() {
  uint32_t most = 1;
  const auto consider = [&](ScopeId scope) {
    const uint32_t domains = state_.model().DomainCount(scope);
    if (scope == kContainerScope || domains <= most || domains > kMostBuckets) return;
    if (most > 1 && domains > kAllBucketsUpTo) return;
    most = domains;
    scope_ = scope;
  };
  for (const GroupRule& rule : state_.model().group_rules()) consider(rule.scope);
  for (const LoadRule& rule : state_.model().load_rules()) consider(rule.scope);
}

void TargetIndex::Sort(Bucket& bucket) {
  bucket.cursor = 0;
  bucket.looked = 0;
  sorting_.clear();
  for (ContainerId c : bucket.by_fill) {
    sorting_.emplace_back(state_.containers().Fill(DomainId(c.index())), c);
  }
  std::sort(sorting_.begin(), sorting_.end());
  for (size_t i = 0; i < sorting_.size(); ++i) bucket.by_fill[i] = sorting_[i].second;
}

void TargetIndex::SampleBucket(Bucket& bucket, size_t n, ObjectId o, ContainerId from,
                               std::vector<Target>& out) {
  const size_t size = bucket.by_fill.size();
  size_t taken = 0;
  full_.clear();
  for (size_t looks = 0; looks < std::min(size, n + kSkipsPerBucket) && taken < n; ++looks) {
    if (bucket.cursor >= size) {
      if (bucket.looked >= 4 * size) Sort(bucket);
      bucket.cursor = 0;
    }
    const ContainerId c = bucket.by_fill[bucket.cursor++];
    ++bucket.looked;
    if (c == from) continue;
    if (!state_.Fits(o, c)) {
      // The rest is fuller still, or was when it was sorted.
      if (looks + 1 == n + kSkipsPerBucket) bucket.cursor = size;
      full_.push_back(c);
      continue;
    }
    out.push_back({c, true});
    ++taken;
  }
  // No room: a goal that counts more than balance may want one all the same, another one each time.
  if (taken == 0 && !full_.empty()) out.push_back({full_[random_.Below(full_.size())], false});
}

void TargetIndex::SampleWishes(ObjectId o, ContainerId from, std::vector<Target>& out) {
  const GroupBoard& groups = state_.group_board();
  for (size_t k = 0; k < groups.rules().size(); ++k) {
    const DomainId wish = groups.Wish(k, groups.GroupOf(o));
    if (!wish.valid()) continue;
    const auto& members = members_[groups.rules()[k]->scope.index()][wish.index()];
    const bool bucketed = groups.rules()[k]->scope == scope_ && buckets_.size() <= kAllBucketsUpTo;
    if (members.empty() || bucketed) continue;
    for (size_t i = 0; i < kLooksPerBucket; ++i) {
      const ContainerId c = members[random_.Below(members.size())];
      if (c != from) out.push_back({c, false});
    }
  }
}

void TargetIndex::SampleBuckets(size_t n, ObjectId o, ContainerId from, std::vector<Target>& out) {
  out.clear();
  if (!grouped_) {
    evenly_.clear();
    SampleEvenly(n * kAllBucketsUpTo, evenly_);
    for (ContainerId c : evenly_) {
      if (c != from) out.push_back({c, false});
    }
  } else if (buckets_.size() <= kAllBucketsUpTo) {
    for (Bucket& bucket : buckets_) SampleBucket(bucket, n, o, from, out);
  } else {
    for (size_t i = 0; i < kAllBucketsUpTo; ++i) {
      SampleBucket(buckets_[random_.Below(buckets_.size())], n, o, from, out);
    }
  }
}

void TargetIndex::Sample(ObjectId o, ContainerId from, std::vector<Target>& out) {
  SampleBuckets(buckets_.size() == 1 ? kLooksPerBucket * 2 : kLooksPerBucket, o, from, out);
  if (grouped_) SampleWishes(o, from, out);
}

void TargetIndex::SampleOne(ObjectId o, ContainerId from, std::vector<Target>& out) {
  SampleBuckets(1, o, from, out);
}

void TargetIndex::All(ContainerId from, std::vector<Target>& out) const {
  out.clear();
  for (ContainerId c : open_) {
    if (c != from) out.push_back({c, false});
  }
}

void TargetIndex::SampleEvenly(size_t n, std::vector<ContainerId>& out) {
  if (open_.empty()) return;
  if (open_.size() <= n) {
    out.insert(out.end(), open_.begin(), open_.end());
    return;
  }
  for (size_t i = 0; i < n; ++i) out.push_back(open_[random_.Below(open_.size())]);
}

}  // namespace shardmanager::solver
