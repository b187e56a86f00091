// The two files of `shardctl place --format=roadef`, as one text: the assignment follows
// the model after a line of "---".
#include <string_view>

#include "allocator/roadef/challenge.h"
#include "allocator/solver/search.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager::roadef {

SM_FUZZ_TARGET(roadef) {
  const std::string_view text = input.Rest();
  const size_t cut = text.find("---");
  if (cut == std::string_view::npos) return;
  const auto posed = ParseInstance(text.substr(0, cut), text.substr(cut + 3));
  if (!posed.ok()) {
    SM_CHECK(!posed.status().message().empty(), "an error says what is wrong");
    return;
  }
  const auto challenge = Challenge::Make(*posed);
  if (!challenge.ok()) return;
  const solver::Score start = solver::State((*challenge)->model()).Total();
  solver::Search search((*challenge)->model(), {.seed = 1, .step_budget = 2'000});
  search.Descend();
  search.Anneal({.steps = 300});
  SM_CHECK(!start.BetterThan(search.BestScore()), "never worse than the start");
  // The answer is in the format that is read.
  const auto again = ParseInstance(text.substr(0, cut), (*challenge)->ToText(search.Where()));
  SM_CHECK(again.ok(), "an answer is a valid assignment");
}

}  // namespace shardmanager::roadef
