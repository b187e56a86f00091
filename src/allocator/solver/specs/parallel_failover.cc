#include "allocator/solver/specs/parallel_failover.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/solver/count_table.h"

namespace shardmanager::solver {
namespace {

class ParallelFailoverRule final : public CustomRule {
 public:
  ParallelFailoverRule(const Problem& problem, uint32_t most_shared, Rank rank)
      : CustomRule("parallel failover", rank.level),
        problem_(problem),
        most_shared_(most_shared),
        weight_(rank.weight),
        group_of_(problem.objects),
        where_(problem.objects) {
    for (uint32_t g = 0; g < problem.groups(); ++g) {
      for (uint32_t o = Begin(g); o < End(g); ++o) group_of_[ObjectId(o)] = g;
    }
  }

  double Arrival(ObjectId o, ContainerId to) const override {
    uint32_t above = 0;
    ForOthers(o, to, [&](ContainerId c, uint32_t before) {
      above += Shared(to, c) + before >= most_shared_;
    });
    return weight_ * above;
  }
  void Put(ObjectId o, ContainerId to) override {
    ForOthers(o, to, [&](ContainerId c, uint32_t) { above_ += Add(to, c, 1) > most_shared_; });
    where_[o] = to;
  }
  void Lift(ObjectId o, ContainerId from) override {
    where_[o] = ContainerId();
    ForOthers(o, from,
              [&](ContainerId c, uint32_t) { above_ -= Add(from, c, -1) >= most_shared_; });
  }
  double Total() const override { return weight_ * static_cast<double>(above_); }
  bool DearerWhenFuller() const override { return true; }
  void AddPayers(std::vector<ObjectId>& payers) const override {
    for (uint32_t i = 0; i < problem_.objects; ++i) {
      const ObjectId o(i);
      bool pays = false;
      if (!where_[o].valid()) continue;
      ForOthers(o, where_[o],
                [&](ContainerId c, uint32_t) { pays |= Shared(where_[o], c) > most_shared_; });
      if (pays) payers.push_back(o);
    }
  }

 private:
  uint32_t Begin(uint32_t g) const { return problem_.group_begin[g]; }
  uint32_t End(uint32_t g) const { return problem_.group_begin[g + 1]; }

  // Calls `visit` with the place of each other object of the group that stands elsewhere
  // than on `at`, and with how many of those before it stand at that same place.
  template <typename Visit>
  void ForOthers(ObjectId o, ContainerId at, const Visit& visit) const {
    const uint32_t begin = Begin(group_of_[o]);
    const uint32_t end = End(group_of_[o]);
    if (end - begin < 2 || end - begin > ParallelFailoverSpec::kLargestGroup) return;
    ContainerId seen[ParallelFailoverSpec::kLargestGroup];
    size_t n = 0;
    for (uint32_t i = begin; i < end; ++i) {
      const ContainerId c = where_[ObjectId(i)];
      if (i == o.index() || !c.valid() || c == at) continue;
      visit(c, static_cast<uint32_t>(std::count(seen, seen + n, c)));
      seen[n++] = c;
    }
  }

  uint32_t Shared(ContainerId a, ContainerId b) const {
    return shared_.Get(GroupId(std::min(a, b).index()), DomainId(std::max(a, b).index()));
  }
  // What they share after it.
  uint32_t Add(ContainerId a, ContainerId b, int change) {
    return shared_.Add(GroupId(std::min(a, b).index()), DomainId(std::max(a, b).index()), change);
  }

  const Problem& problem_;
  const uint32_t most_shared_;
  const double weight_;
  Table<ObjectId, uint32_t> group_of_;
  Table<ObjectId, ContainerId> where_;
  CountTable shared_;  // by pair of containers, the lower one first
  uint64_t above_ = 0;
};

}  // namespace

absl::Status ParallelFailoverSpec::AddTo(Model& model, Rank rank) const {
  if (most_shared == 0) {
    return absl::InvalidArgumentError(absl::StrCat("parallel_failover.most_shared: found ",
                                                   most_shared, "; allowed: 1 and more"));
  }
  model.Add([most_shared = most_shared, rank](const Problem& problem) {
    return std::make_unique<ParallelFailoverRule>(problem, most_shared, rank);
  });
  return absl::OkStatus();
}

}  // namespace shardmanager::solver
