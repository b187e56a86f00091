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
  now_ = now;
  if (stopped_) return {};
  std::visit([this](auto& e) { On(e); }, event);
  if (stopped_) return std::exchange(out_, {});
  return Finish();
}

Output<Action> Partition::OnAdvance(TimePoint now) {
  now_ = now;
  if (stopped_) return {};
  return Finish();
}

Output<Action> Partition::Finish() {
  while (const auto timer = timers_.TakeDue(now_)) Fire(*timer);
  while (!dirty_.empty()) {
    const ShardIndex shard = dirty_.front();
    dirty_.pop_front();
    tables_.shard(shard).dirty = false;
    Look(shard);
  }
  FormBatch();
  RequestPlan();
  FlushCommands();
  FlushPublish();
  if (deleting_ && !emptied_ && recovered_ && !batch_out_ && tables_.replica_count() == 0 &&
      unread_.empty()) {
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
          item.kind, item.server, tables_.server(item.server).incarnation, {}, item.other});
      open = &std::get<SendCommands>(out_.actions.back());
    }
    open->grants.push_back(item.grant);
  }
  outbox_.clear();
}

bool Partition::MapReady() const {
  return recovered_ && (unreported_ == 0 || map_deadline_passed_ || published_);
}

void Partition::FlushPublish() {
  if (!MapReady() || (publish_.empty() && !publish_whole_ && finished_failovers_.empty())) return;
  if (published_ && now_ < last_publish_ + kPublishInterval) {
    if (!publish_timer_) SetTimer(last_publish_ + kPublishInterval - now_, TimerKind::kPublish);
    publish_timer_ = true;
    return;
  }
  for (ShardIndex shard : publish_) tables_.shard(shard).publish = false;
  if (publish_whole_) publish_.clear();
  if (publish_whole_ || !publish_.empty()) {
    out_.actions.emplace_back(Publish{publish_whole_, std::move(publish_)});
    last_publish_ = now_;
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
  at_rest_ = false;
  if (std::exchange(tables_.shard(shard).dirty, true)) return;
  dirty_.push_back(shard);
}

void Partition::MarkServerDirty(ServerIndex server) {
  for (ReplicaIndex id : tables_.server(server).replicas) MarkDirty(tables_.replica(id).shard);
}

void Partition::MarkPublish(ShardIndex shard) {
  Shard& s = tables_.shard(shard);
  if (s.map_index == Shard::kNotInMap || std::exchange(s.publish, true)) return;
  publish_.push_back(shard);
}

void Partition::WantWrite(ShardIndex shard) {
  if (std::exchange(tables_.shard(shard).waits_for_write, true)) return;
  write_queue_.push_back(shard);
}

void Partition::SetTimer(Duration delay, TimerKind kind, uint32_t id) {
  timers_.Set(now_ + delay, kind, id);
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

bool Partition::Serves(const Replica& replica) const {
  return replica.phase == Phase::kGranted && replica.contact == Contact::kDone &&
         tables_.server(replica.server).state == ServerState::kLive;
}

std::vector<Partition::Published> Partition::PublishedReplicas(ShardIndex shard) const {
  std::vector<ReplicaIndex> serving;
  std::vector<ReplicaIndex> forwarding;
  std::vector<ReplicaIndex> perhaps;
  tables_.ForEach(shard, [&](ReplicaIndex id, const Replica& replica) {
    if (HasBothRoles() ? InStep(replica) : Serves(replica)) serving.push_back(id);
    // The old owner of a handover takes what comes, until the new one is in the map.
    if (StillForwards(replica) && tables_.server(replica.server).state == ServerState::kLive) {
      forwarding.push_back(id);
    }
    // A server that only the store lost sight of may serve on (a whole fleet can be
    // "lost" by a hiccup of the store): better than no address at all.
    const Server& server = tables_.server(replica.server);
    if (replica.phase == Phase::kGranted && server.state == ServerState::kLost &&
        !server.endpoint.empty()) {  // empty: lost before this leader came
      perhaps.push_back(id);
    }
  });
  std::vector<Published> chosen;
  for (ReplicaIndex id : !serving.empty() ? serving : !forwarding.empty() ? forwarding : perhaps) {
    chosen.push_back({id, tables_.replica(id).role});
  }
  if (HasBothRoles()) AddStandIn(shard, chosen);
  std::sort(chosen.begin(), chosen.end(), [&](const Published& a, const Published& b) {
    return tables_.replica(a.replica).server < tables_.replica(b.replica).server;
  });
  return chosen;
}

// Until the new primary serves, clients are sent to the old one, which sends them on.
void Partition::AddStandIn(ShardIndex shard, std::vector<Published>& chosen) const {
  const auto is_primary = [](const Published& p) { return p.role == Role::kPrimary; };
  if (std::any_of(chosen.begin(), chosen.end(), is_primary)) return;
  const auto found = stand_in_.find(shard);
  tables_.ForEach(shard, [&](ReplicaIndex id, const Replica& replica) {
    const bool was = found != stand_in_.end() && found->second == replica.server &&
                     replica.phase == Phase::kGranted;
    if (!was && replica.phase != Phase::kDemoting) return;
    if (tables_.server(replica.server).state != ServerState::kLive) return;
    std::erase_if(chosen, [&](const Published& p) { return p.replica == id; });
    chosen.push_back({id, Role::kPrimary});
  });
}

const std::string& Partition::ErrorOf(ShardIndex shard, ServerIndex server) const {
  static const std::string kNone;
  auto it = errors_.find(Key(shard, server));
  return it == errors_.end() ? kNone : it->second.error;
}

std::string_view Partition::UnplaceableReason(ShardIndex shard) const {
  const allocator::SkipReason* reason = missing_.Find(shard);
  return reason == nullptr ? std::string_view() : allocator::ToString(*reason);
}

int Partition::ProgressOf(ShardIndex shard, ServerIndex server) const {
  auto it = progress_.find(Key(shard, server));
  return it == progress_.end() ? -1 : it->second;
}

size_t Partition::memory_bytes() const {
  size_t layout = layout_.capacity() * sizeof(LayoutShard);
  for (const LayoutShard& s : layout_) {
    for (const std::string* text : {&s.id.value(), &s.start, &s.end, &s.preferred_region}) {
      if (text->capacity() > 15) layout += text->capacity() + 1;
    }
  }
  return tables_.memory_bytes() + layout + spec_.SpaceUsedLong() +
         map_order_.capacity() * sizeof(ShardIndex) + timers_.memory_bytes() +
         reported_.memory_bytes() + planned_.memory_bytes() + pressure_.capacity() * sizeof(float);
}

}  // namespace shardmanager::orchestrator
