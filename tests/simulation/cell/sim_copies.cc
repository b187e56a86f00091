// The application's data: a primary copies its writes to the members, and acknowledges what all
// of them know (in worlds that are durable: have on disk); with `quorum`, what most of them have on
// disk.
#include <algorithm>

#include "tests/simulation/cell/sim_server.h"

namespace shardmanager::simulation {

const ShardCopy* SimServer::copy(const std::string& shard) const {
  const Copies& copies = context_.on_disk() ? context_.disk : memory_;
  const auto found = copies.find(shard);
  return found == copies.end() ? nullptr : &found->second;
}

namespace {

// Of a shard that was made of others: what is known here of those.
void TakeOver(const server::Grant& grant, const Copies& old, Copies& copies) {
  if (!grant.origin || copies.contains(grant.shard.value())) return;
  for (const ShardId& from : grant.origin->made_of) {
    const auto found = old.find(from.value());
    if (found == old.end()) continue;
    const auto [copy, fresh] = copies.try_emplace(grant.shard.value());
    copy->second.writes.insert(found->second.writes.begin(), found->second.writes.end());
    const bool in_step = fresh || copy->second.in_step == found->second.in_step;
    copy->second.in_step = in_step ? found->second.in_step : Incarnation();
  }
}

}  // namespace

// A new process knows nothing, and must not be the primary of others that know more.
absl::Status SimServer::Take(const server::Grant& grant) {
  if (!context_.replicates) return absl::OkStatus();
  TakeOver(grant, context_.on_disk() ? context_.disk : shelf_, copies());
  const std::string& shard = grant.shard.value();
  const bool primary = grant.role == Role::kPrimary;
  if (context_.quorum) {
    ShardCopy& copy = copies()[shard];
    copy.members.reset();
    if (grant.members && primary) return TakeFromMost(grant);
    // By itself, as its record says: nobody else was the primary since it took that over.
    const bool same = copy.taken == grant.epoch && copy.epoch == grant.epoch;
    return same || !primary ? absl::OkStatus() : absl::UnavailableError("has not asked the others");
  }
  const bool alone = grant.members && grant.members->size() == 1;
  if (primary && !copies().contains(shard) && !alone) return absl::UnavailableError("it is empty");
  ShardCopy& copy = copies()[shard];
  copy.members = primary ? grant.members : std::nullopt;
  if (primary) copy.epoch = grant.epoch;
  if (primary && grant.members) copy.in_step = incarnation();
  return absl::OkStatus();
}

// Of another server (its disk is its own in every life; what is in memory is one life's), that
// takes what the primary with that epoch says; null: it does not, or cannot be reached.
ShardCopy* SimServer::CopyAt(const Peer& peer, const std::string& shard, ShardEpoch epoch) const {
  SimServer* there =
      context_.quorum ? context_.named(peer.server.value()) : context_.server(peer.endpoint);
  if (there == nullptr || there == this || !there->process_->running()) return nullptr;
  const std::string& here = process_->host();
  const std::string& host = there->process_->host();
  const bool open = context_.network.Open(here, host) && context_.network.Open(host, here);
  const auto found = there->copies().find(shard);
  if (!open || found == there->copies().end() || epoch < found->second.epoch) return nullptr;
  found->second.epoch = epoch;
  return &found->second;
}

// One that is new gets everything; one that goes may be out of reach.
absl::Status SimServer::BringIntoStep(const server::Grant& grant) {
  ShardCopy& copy = copies()[grant.shard.value()];
  absl::Status status;
  for (const Peer& peer : *grant.members) {
    const auto& old = copy.members;
    const bool known = old && std::find(old->begin(), old->end(), peer) != old->end();
    if (known || peer.endpoint == endpoint_) continue;
    if (ShardCopy* there = CopyAt(peer, grant.shard.value(), grant.epoch)) {
      there->writes = copy.writes;
    } else {
      status = absl::UnavailableError("cannot be brought into step: " + peer.server.value());
    }
  }
  if (status.ok()) copy.members = grant.members;
  return status;
}

// Consensus, as short as it can be: the primary knows what most of the members know, and sees
// to it that most of them know all that. It reaches most of those that it went by, too.
absl::Status SimServer::TakeFromMost(const server::Grant& grant) {
  const std::string& shard = grant.shard.value();
  ShardCopy& copy = copies()[shard];
  if (grant.epoch < copy.epoch) return absl::FailedPreconditionError("there is a newer primary");
  copy.epoch = grant.epoch;
  std::vector<ShardCopy*> reached{&copy};
  const auto most = [&](const Members& members) {
    size_t count = 0;
    for (const Peer& peer : members) {
      const bool here = peer.server.value() == name_;
      ShardCopy* there = here ? &copy : CopyAt(peer, shard, grant.epoch);
      if (there == nullptr) continue;
      reached.push_back(there);
      ++count;
    }
    return count > members.size() / 2;
  };
  if (!most(*grant.members) || (copy.members && !most(*copy.members))) {
    return absl::UnavailableError("most of the members cannot be reached");
  }
  std::set<uint64_t> all;
  for (const ShardCopy* known : reached) all.insert(known->writes.begin(), known->writes.end());
  for (ShardCopy* known : reached) known->writes = all;
  copy.members = grant.members;
  copy.taken = grant.epoch;
  return absl::OkStatus();
}

// True: all members have it, or most. A life that was lost since it was copied to is no member.
bool SimServer::Replicate(const std::string& shard, ShardEpoch epoch, uint64_t request) {
  ShardCopy& copy = copies()[shard];
  if (!copy.members || epoch < copy.epoch) return false;
  size_t known = 0;
  for (const Peer& peer : *copy.members) {
    const bool here = peer.server.value() == name_;
    ShardCopy* there = here ? &copy : CopyAt(peer, shard, epoch);
    if (there == nullptr && !context_.quorum) return false;
    if (there == nullptr) continue;
    there->writes.insert(request);
    there->in_step = here ? incarnation() : context_.named(peer.server.value())->incarnation();
    ++known;
  }
  return context_.quorum ? known > copy.members->size() / 2 : true;
}

}  // namespace shardmanager::simulation
