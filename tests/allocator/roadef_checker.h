// The rules of the ROADEF/EURO 2012 challenge once more, as plainly as they are
// written down, sharing nothing with the solver: a judge of its solutions.
#pragma once

#include <cstdint>
#include <string>

namespace shardmanager::roadef {

struct Verdict {
  std::string broken;  // the first rule that is; "": the solution is valid
  int64_t cost = 0;
};

// All three texts in the challenge's formats; `original` and `solution` are assignments.
Verdict Judge(const std::string& model, const std::string& original, const std::string& solution);

}  // namespace shardmanager::roadef
