#include "orchestrator/core/partition.h"

namespace shardmanager::orchestrator {

Output<Action> Partition::OnEvent(TimePoint now, Event event) {
  state_.now = now;
  if (state_.writes.deposed) return {};
  std::visit([this](auto& e) { On(e); }, event);
  if (state_.writes.deposed) return agenda_.TakeOutput();
  return Finish();
}

Output<Action> Partition::OnAdvance(TimePoint now) {
  state_.now = now;
  if (state_.writes.deposed) return {};
  return Finish();
}

Output<Action> Partition::Finish() {
  while (const auto timer = agenda_.timers().TakeDue(state_.now)) Fire(*timer);
  if (Mirrors(state_)) {
    while (agenda_.TakeDirty().valid()) {  // the app's own orchestrator looks at them
    }
  } else {
    Follow();
  }
  if (state_.deleting && !emptied_ && state_.recovered && !state_.writes.out &&
      state_.tables.replica_count() == 0 && state_.unread.servers.empty()) {
    emptied_ = true;
    agenda_.Do(Emptied{});
  }
  return agenda_.TakeOutput();
}

void Partition::Follow() {
  if (replacer_.Look()) {
    AdoptLayout(replacer_.LayoutNow());
    publication_.MarkWhole();
  }
  for (ShardIndex s = agenda_.TakeDirty(); s.valid(); s = agenda_.TakeDirty()) looks_.Look(s);
  batch_.Form();
  planner_.Request();
  commander_.Flush();
  publication_.Flush();
}

size_t Partition::memory_bytes() const {
  size_t layout = state_.layout.capacity() * sizeof(LayoutShard);
  for (const LayoutShard& s : state_.layout) {
    for (const std::string* text : {&s.id.value(), &s.start, &s.end, &s.preferred_region}) {
      if (text->capacity() > 15) layout += text->capacity() + 1;
    }
  }
  return state_.tables.memory_bytes() + layout + state_.spec.SpaceUsedLong() +
         state_.map_order.capacity() * sizeof(ShardIndex) + agenda_.timers().memory_bytes() +
         state_.loads.reported.memory_bytes() + state_.loads.planned.memory_bytes() +
         state_.demand.shards.capacity() * sizeof(ShardDemand) + load_book_.memory_bytes();
}

}  // namespace shardmanager::orchestrator
