// "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardmanager::cli {

// The candidate that `word` was most likely meant to be, "" if none is near.
// Differences of case and between "-" and "_" do not count.
std::string Suggest(std::string_view word, const std::vector<std::string>& candidates);

// How many letters must be changed, added, left out or swapped with their neighbour
// (optimal string alignment distance).
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace shardmanager::cli
