#include "orchestrator/core/load/capacity_book.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "orchestrator/decide/load/loads.h"

namespace shardmanager::orchestrator {
namespace {

// A rise counts when it has lasted for so long, and is by more than this part.
constexpr Duration kPatience = Seconds(600);
constexpr double kWorthARise = 0.1;

constexpr double kNone = std::numeric_limits<double>::infinity();

template <typename Amounts>
auto FindAmount(Amounts& amounts, const std::string& metric) {
  return std::find_if(amounts.begin(), amounts.end(),
                      [&](const auto& amount) { return amount.metric == metric; });
}

void Set(std::vector<MetricAmount>& amounts, const std::string& metric, double amount) {
  const auto found = FindAmount(amounts, metric);
  if (found == amounts.end()) {
    amounts.push_back({metric, amount});
  } else {
    found->amount = amount;
  }
}

}  // namespace

void CapacityBook::Register(ServerIndex id, const std::vector<MetricAmount>& registered) {
  watched_.erase(id);
  std::vector<MetricAmount> believed;
  for (const MetricAmount& own : registered) {
    if (const char* why = WhyRefused(own.amount); why != nullptr) {
      agenda_.AddNote(NoteKind::kLoadRefused, id, ShardIndex(),
                      absl::StrCat("capacity for ", own.metric, ": found ", own.amount, " (", why,
                                   "); allowed: 0 to 1e12. The spec's holds"));
      continue;
    }
    believed.push_back(own);
  }
  for (auto* capacity :
       {&state_.loads.registered, &state_.loads.capacity_now, &state_.loads.capacity}) {
    if (believed.empty()) {
      capacity->erase(id);
    } else {
      (*capacity)[id] = believed;
    }
  }
}

void CapacityBook::Record(ServerIndex id, const std::vector<MetricAmount>& said, bool at_rest,
                          LoadProblem& problem) {
  const auto known = watched_.find(id);
  if (said.empty() && known == watched_.end()) return;
  std::vector<Watched> watched;
  if (known != watched_.end()) watched = std::move(known->second);
  const bool first = watched.empty();
  std::erase_if(watched,
                [&](const Watched& w) { return FindAmount(said, w.metric) == said.end(); });
  for (const MetricAmount& own : said) {
    const auto& metrics = state_.loads.metrics;
    if (std::find(metrics.begin(), metrics.end(), own.metric) == metrics.end()) continue;
    if (const char* why = WhyRefused(own.amount); why != nullptr) {
      if (problem.count++ == 0) {
        problem.first =
            absl::StrCat("capacity for ", own.metric, ": found ", own.amount, " (", why, ")");
      }
      continue;
    }
    Watch(watched, own);
  }
  Count(id, watched, at_rest || first);
  if (watched.empty()) {
    watched_.erase(id);
  } else {
    watched_[id] = std::move(watched);
  }
}

void CapacityBook::Watch(std::vector<Watched>& all, const MetricAmount& said) {
  const auto found = FindAmount(all, said.metric);
  if (found == all.end()) {
    all.push_back({said.metric, said.amount, said.amount, kNone, state_.now});
    return;
  }
  const double seen_twice = std::max(said.amount, std::exchange(found->last, said.amount));
  if (seen_twice > found->counts) {
    found->least = std::min(found->least, seen_twice);
    if (state_.now < found->since + kPatience) return;
    if (found->least > found->counts * (1 + kWorthARise)) found->counts = found->least;
  } else {
    found->counts = seen_twice;
  }
  found->least = kNone;
  found->since = state_.now;
}

void CapacityBook::Count(ServerIndex id, const std::vector<Watched>& watched, bool at_rest) {
  Loads& loads = state_.loads;
  std::vector<MetricAmount> now;
  if (const auto own = loads.registered.find(id); own != loads.registered.end()) now = own->second;
  for (const Watched& w : watched) Set(now, w.metric, w.counts);
  std::vector<MetricAmount> planned = now;
  for (size_t m = 0; m < loads.metrics.size(); ++m) {
    const double before = MetricCapacity(state_, loads.capacity_now, id, m);
    const double in_plans = MetricCapacity(state_, loads.capacity, id, m);
    const auto found = FindAmount(now, loads.metrics[m]);
    const double counts = found != now.end() ? found->amount : SpecCapacity(state_, m);
    if (counts > before) state_.missing.MayHelp(Help::kRoom);
    if (!at_rest && counts > in_plans) Set(planned, loads.metrics[m], in_plans);
  }
  loads.capacity_now[id] = std::move(now);
  loads.capacity[id] = std::move(planned);
}

}  // namespace shardmanager::orchestrator
