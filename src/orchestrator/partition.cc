#include "orchestrator/partition.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/defect.h"

namespace shardmanager::orchestrator {
namespace {

// Changes within this time go out in one map version.
constexpr Duration kPublishInterval = Milliseconds(5);
// Most shards in one command.
constexpr size_t kMaxGrantsPerCommand = 10'000;

}  // namespace

Output<Action> Partition::OnEvent(TimePoint now, Event event) {
  state_.now = now;
  if (stopped_) return {};
  std::visit([this](auto& e) { On(e); }, event);
  if (stopped_) return std::exchange(out_, {});
  return Finish();
}

Output<Action> Partition::OnAdvance(TimePoint now) {
  state_.now = now;
  if (stopped_) return {};
  return Finish();
}

Output<Action> Partition::Finish() {
  while (const auto timer = timers_.TakeDue(state_.now)) Fire(*timer);
  while (!dirty_.empty()) {
    const ShardIndex shard = dirty_.front();
    dirty_.pop_front();
    state_.tables.shard(shard).dirty = false;
    Look(shard);
  }
  FormBatch();
  RequestPlan();
  FlushCommands();
  FlushPublish();
  if (state_.deleting && !emptied_ && state_.recovered && !batch_out_ &&
      state_.tables.replica_count() == 0 && state_.unread.servers.empty()) {
    emptied_ = true;
    out_.actions.emplace_back(Emptied{});
  }
  out_.next_wake = timers_.next();
  return std::exchange(out_, {});
}

// One action for each server and kind, in the order in which servers first came up.
void Partition::FlushCommands() {
  if (outbox_.empty()) return;
  std::stable_sort(outbox_.begin(), outbox_.end(), [](const Outbox& a, const Outbox& b) {
    return std::tie(a.server, a.kind, a.other) < std::tie(b.server, b.kind, b.other);
  });
  SendCommands* open = nullptr;
  for (const Outbox& item : outbox_) {
    if (open == nullptr || open->server != item.server || open->kind != item.kind ||
        open->other != item.other || open->grants.size() == kMaxGrantsPerCommand) {
      out_.actions.emplace_back(SendCommands{
          item.kind, item.server, state_.tables.server(item.server).incarnation, {}, item.other});
      open = &std::get<SendCommands>(out_.actions.back());
    }
    open->grants.push_back(item.grant);
  }
  outbox_.clear();
}

bool Partition::MapReady() const {
  return state_.recovered && (unreported_ == 0 || map_deadline_passed_ || published_);
}

void Partition::FlushPublish() {
  if (!MapReady() || (publish_.empty() && !publish_whole_ && finished_failovers_.empty())) return;
  if (published_ && state_.now < last_publish_ + kPublishInterval) {
    if (!publish_timer_)
      SetTimer(last_publish_ + kPublishInterval - state_.now, TimerKind::kPublish);
    publish_timer_ = true;
    return;
  }
  for (ShardIndex shard : publish_) state_.tables.shard(shard).publish = false;
  if (publish_whole_) publish_.clear();
  if (publish_whole_ || !publish_.empty()) {
    out_.actions.emplace_back(Publish{publish_whole_, std::move(publish_)});
    last_publish_ = state_.now;
    published_ = true;
  }
  publish_.clear();
  publish_whole_ = false;
  for (ServerIndex server : finished_failovers_) {
    AddNote(NoteKind::kFailoverFinished, server, ShardIndex());
  }
  finished_failovers_.clear();
}

void Partition::MarkDirty(ShardIndex shard) {
  state_.balance.at_rest = false;
  if (std::exchange(state_.tables.shard(shard).dirty, true)) return;
  dirty_.push_back(shard);
}

void Partition::MarkServerDirty(ServerIndex server) {
  for (ReplicaIndex id : state_.tables.server(server).replicas)
    MarkDirty(state_.tables.replica(id).shard);
}

void Partition::MarkPublish(ShardIndex shard) {
  Shard& s = state_.tables.shard(shard);
  if (s.map_index == Shard::kNotInMap || std::exchange(s.publish, true)) return;
  publish_.push_back(shard);
}

void Partition::WantWrite(ShardIndex shard) {
  if (std::exchange(state_.tables.shard(shard).waits_for_write, true)) return;
  state_.writes.queue.push_back(shard);
}

void Partition::SetTimer(Duration delay, TimerKind kind, uint32_t id) {
  timers_.Set(state_.now + delay, kind, id);
}

void Partition::AddNote(NoteKind kind, ServerIndex server, ShardIndex shard, std::string detail) {
  out_.actions.emplace_back(Note{kind, server, shard, std::move(detail)});
}

ShardEpoch Partition::NextEpoch() {
  if (Planted(Defect::kEpochsBeginAnew)) return ShardEpoch(++epochs_given_);
  return ShardEpoch(options_.leader_epoch.value() << 32 | ++epochs_given_);
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
         state_.map_order.capacity() * sizeof(ShardIndex) + timers_.memory_bytes() +
         state_.loads.reported.memory_bytes() + state_.loads.planned.memory_bytes() +
         pressure_.capacity() * sizeof(float);
}

}  // namespace shardmanager::orchestrator
