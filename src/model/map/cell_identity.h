// How maps name the cell that they are of: "<name>@<when made>" (MapSnapshot.cell).
#pragma once

#include <string_view>

namespace shardmanager {

// May what says that it is of the cell `identity` be used for the cell of this name? What does not
// say its cell (identity "") may, and every cell may where none is asked for (name "").
inline bool IsOfCell(std::string_view identity, std::string_view name) {
  return name.empty() || identity.empty() || identity.substr(0, identity.rfind('@')) == name;
}

}  // namespace shardmanager
