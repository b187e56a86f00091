// The promises of base/state_machine.h, for any core.
#pragma once

#include <utility>

#include "base/state_machine.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager::fuzz {

// Advances to `now`, gives the output to `carry`, and looks whether once was enough.
template <typename Core, typename Carry>
void AdvanceCore(Core& core, TimePoint now, Carry&& carry) {
  auto output = core.OnAdvance(now);
  const TimePoint next = output.next_wake;
  carry(std::move(output.actions));
  SM_CHECK(next > now, "a wake that was served does not come again at once");
  SM_CHECK(core.OnAdvance(now).actions.empty(), "a spurious wake asks for nothing");
}

}  // namespace shardmanager::fuzz
