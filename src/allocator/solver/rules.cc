#include "allocator/solver/rules.h"

namespace shardmanager::solver {

double CustomRule::MoveChange(ObjectId o, ContainerId from, ContainerId to) {
  Lift(o, from);
  const double change = Arrival(o, to) - Arrival(o, from);
  Put(o, from);
  return change;
}

double CustomRule::SwapChange(ObjectId a, ContainerId at_a, ObjectId b, ContainerId at_b) {
  double change = MoveChange(a, at_a, at_b);
  Lift(a, at_a);
  Put(a, at_b);
  change += MoveChange(b, at_b, at_a);
  Lift(a, at_b);
  Put(a, at_a);
  return change;
}

}  // namespace shardmanager::solver
