#include "model/server_view.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "model/text.h"

namespace shardmanager {
namespace {

uint32_t Bounded(uint64_t count) {
  return static_cast<uint32_t>(std::min<uint64_t>(count, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

const char* ToString(Problem problem) {
  constexpr std::array<const char*, kProblems> kTexts = {
      "no connection", "no answer in time", "broken connections", "errors", "slow answers"};
  return kTexts[static_cast<size_t>(problem)];
}

uint64_t ServerView::in_trouble() const {
  return std::accumulate(trouble.begin(), trouble.end(), uint64_t{0});
}

Problem ServerView::main_problem() const {
  return static_cast<Problem>(std::max_element(trouble.begin(), trouble.end()) - trouble.begin());
}

ServerView& ServerView::operator+=(const ServerView& other) {
  for (size_t i = 0; i < kProblems; ++i) trouble[i] += other.trouble[i];
  well += other.well;
  return *this;
}

ServerView& ServerView::operator-=(const ServerView& other) {
  for (size_t i = 0; i < kProblems; ++i) trouble[i] -= other.trouble[i];
  well -= other.well;
  return *this;
}

ServerView ViewOf(const v1::ServerSeen& seen) {
  return {{seen.no_connection(), seen.no_answer(), seen.broken(), seen.errors(), seen.slow()},
          seen.well()};
}

v1::ServerSeen ToProto(const std::string& server, const ServerView& view) {
  v1::ServerSeen seen;
  seen.set_server(server);
  const auto of = [&](Problem problem) {
    return Bounded(view.trouble[static_cast<size_t>(problem)]);
  };
  seen.set_no_connection(of(Problem::kNoConnection));
  seen.set_no_answer(of(Problem::kNoAnswer));
  seen.set_broken(of(Problem::kBroken));
  seen.set_errors(of(Problem::kErrors));
  seen.set_slow(of(Problem::kSlow));
  seen.set_well(Bounded(view.well));
  return seen;
}

std::string ToString(const ServerView& view) {
  const uint64_t in_trouble = view.in_trouble();
  return absl::StrCat(Counted(in_trouble, "client"), " cannot use it",
                      in_trouble == 0 ? "" : absl::StrCat(" (", ToString(view.main_problem()), ")"),
                      ", ", view.well, " can");
}

}  // namespace shardmanager
