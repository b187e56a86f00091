#include "allocator/move_chains.h"

#include <algorithm>

namespace shardmanager::allocator {

void JoinChains(std::vector<Move>& moves, size_t first) {
  for (size_t i = first; i < moves.size();) {
    const Move onward = moves[i];
    const auto begin = moves.begin() + static_cast<std::ptrdiff_t>(first);
    const auto arrival = std::find_if(begin, moves.end(), [&](const Move& move) {
      return onward.from.valid() && move.to == onward.from;
    });
    if (arrival == moves.end()) {
      ++i;
      continue;
    }
    arrival->to = onward.to;  // its reason is that of the whole chain
    moves.erase(begin + static_cast<std::ptrdiff_t>(i - first));
    moves.erase(std::remove_if(moves.begin() + static_cast<std::ptrdiff_t>(first), moves.end(),
                               [](const Move& move) { return move.from == move.to; }),
                moves.end());
    i = first;
  }
}

}  // namespace shardmanager::allocator
