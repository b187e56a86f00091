#include "orchestrator/partition.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace shardmanager::orchestrator {
namespace {

// Most shards in one command.
constexpr size_t kMaxGrantsPerCommand = 10'000;

}  // namespace

Output<Action> Partition::OnEvent(TimePoint now, Event event) {
  state_.now = now;
  if (stopped_) return {};
  std::visit([this](auto& e) { On(e); }, event);
  if (stopped_) return agenda_.TakeOutput();
  return Finish();
}

Output<Action> Partition::OnAdvance(TimePoint now) {
  state_.now = now;
  if (stopped_) return {};
  return Finish();
}

Output<Action> Partition::Finish() {
  while (const auto timer = agenda_.timers().TakeDue(state_.now)) Fire(*timer);
  for (ShardIndex s = agenda_.TakeDirty(); s.valid(); s = agenda_.TakeDirty()) Look(s);
  FormBatch();
  RequestPlan();
  FlushCommands();
  publication_.Flush();
  if (state_.deleting && !emptied_ && state_.recovered && !batch_out_ &&
      state_.tables.replica_count() == 0 && state_.unread.servers.empty()) {
    emptied_ = true;
    agenda_.Do(Emptied{});
  }
  return agenda_.TakeOutput();
}

// One action for each server and kind, in the order in which servers first came up.
void Partition::FlushCommands() {
  std::vector<Outbox> commands = agenda_.TakeCommands();
  const auto rank = [](const Outbox& c) { return std::tie(c.server, c.kind, c.other); };
  std::stable_sort(commands.begin(), commands.end(),
                   [&](const Outbox& a, const Outbox& b) { return rank(a) < rank(b); });
  for (auto next = commands.begin(); next != commands.end();) {
    const Outbox& first = *next;
    SendCommands send{
        first.kind, first.server, state_.tables.server(first.server).incarnation, {}, first.other};
    while (next != commands.end() && rank(*next) == rank(first) &&
           send.grants.size() < kMaxGrantsPerCommand) {
      send.grants.push_back(std::move(next->grant));
      ++next;
    }
    agenda_.Do(std::move(send));
  }
}

// 1-based, so that 0 can mean "none". Names nest: racks of different datacenters
// differ even under one name.
uint32_t Partition::DomainNumber(const std::string& region, const std::string& datacenter,
                                 const std::string& rack) {
  return domains_.Intern(absl::StrCat(region, "\n", datacenter, "\n", rack)).index() + 1;
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
         load_book_.memory_bytes();
}

}  // namespace shardmanager::orchestrator
