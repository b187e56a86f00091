#include "orchestrator/shell/batch_writer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/defect.h"
#include "coordination/election.h"
#include "coordination/envelope.h"
#include "coordination/write_check.h"
#include "model/proto_values.h"
#include "orchestrator/state/record_size.h"
#include "runtime/clock.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {
namespace {

std::string Encode(const ServerWrite& write, const Tables& tables) {
  v1::AssignmentRecord record;
  record.set_server(tables.name(write.server));
  record.mutable_replicas()->Reserve(static_cast<int>(write.replicas.size()));
  for (const ReplicaRecord& r : write.replicas) {
    v1::AssignedReplica* out = record.add_replicas();
    out->set_shard(tables.name(r.shard));
    out->set_role(ToProto(r.role));
    out->set_epoch(r.epoch.value());
    out->set_phase(ToProto(r.phase));
    out->set_member_life(r.member_life);
  }
  return Seal(record);
}

// The server whose record takes most of the batch. REQUIRES: the ops end with the records, in
// order.
ServerIndex LargestOf(const Persist& batch, const std::vector<WriteOp>& ops) {
  const auto larger = [](const WriteOp& a, const WriteOp& b) {
    return WriteBytes(a) < WriteBytes(b);
  };
  const auto first = ops.end() - static_cast<std::ptrdiff_t>(batch.writes.size());
  return batch.writes[static_cast<size_t>(std::max_element(first, ops.end(), larger) - first)]
      .server;
}

}  // namespace

// What the partition holds for a batch that fits does, together with the check of the leader epoch.
static_assert(kMostBatchBytes + 1'000 <= kMaxWriteBytes);

void BatchWriter::Write(const Persist& batch, const Tables& tables, Done done) {
  auto flight = std::make_shared<InFlight>();
  flight->batch = batch.batch;
  flight->sent_at = MonotonicNow();
  flight->done = std::move(done);
  std::vector<WriteOp> ops;
  if (!Planted(Defect::kNoLeaderFence)) {
    ops.push_back(LeaderFence(options_.paths, options_.leader_epoch));
  }
  for (const RegistrationCheck& check : batch.checks) {
    if (Planted(Defect::kNoRegistrationCheck)) break;
    const ServerName server(tables.name(check.server));
    ops.push_back(
        CheckVersion{options_.paths.server(options_.app, server, options_.buckets), check.version});
    flight->checks.push_back(check.server);
  }
  for (const ServerWrite& write : batch.writes) {
    const std::string& name = tables.name(write.server);
    const std::string path =
        options_.paths.assignment(options_.app, ServerName(name), options_.buckets);
    std::string data = Encode(write, tables);
    flight->bytes += data.size();
    flight->records.push_back(name);
    flight->probe_path = path;
    flight->probe_data = data;
    if (existing_.contains(name)) {
      ops.push_back(SetNode{path, std::move(data)});
    } else {
      ops.push_back(CreateNode{path, std::move(data)});
    }
  }
  if (const absl::Status fits = CheckWriteSize(ops); !fits.ok()) {
    spdlog::warn("app {}: batch {} is too large: {}", options_.app.value(), flight->batch,
                 fits.ToString());
    return Finish(*flight, WriteOutcome::kTooLarge, LargestOf(batch, ops));
  }
  options_.store->Multi(std::move(ops), [this, post = options_.post, flight](WriteResult result) {
    post([this, flight, result = std::move(result)] { OnResult(flight, result); });
  });
}

void BatchWriter::OnResult(std::shared_ptr<InFlight> flight, const WriteResult& result) {
  if (result.status.ok()) {
    existing_.insert(flight->records.begin(), flight->records.end());
    return Finish(*flight, WriteOutcome::kOk);
  }
  if (absl::IsUnavailable(result.status)) return ReadBack(std::move(flight));
  if (result.failed_op == 0 || absl::IsAborted(result.status)) {
    spdlog::warn("app {}: a write was refused, we do not lead any more: {}", options_.app.value(),
                 result.status.ToString());
    return Finish(*flight, WriteOutcome::kDeposed);
  }
  const auto checks = static_cast<int>(flight->checks.size());
  if (result.failed_op >= 1 && result.failed_op <= checks) {
    return Finish(*flight, WriteOutcome::kConflict,
                  flight->checks[static_cast<size_t>(result.failed_op) - 1]);
  }
  // A record is there that we thought was not, or the other way round: learn it.
  const size_t record = static_cast<size_t>(result.failed_op - 1 - checks);
  if (result.failed_op > checks && record < flight->records.size()) {
    if (absl::IsAlreadyExists(result.status)) existing_.insert(flight->records[record]);
    if (absl::IsNotFound(result.status)) existing_.erase(flight->records[record]);
  }
  spdlog::warn("app {}: a write failed and will be tried again: {}", options_.app.value(),
               result.status.ToString());
  Finish(*flight, WriteOutcome::kFailed);
}

// The multi happened as a whole or not at all, so one of its records tells. Sync
// first: it passes through the store's leader behind our write.
void BatchWriter::ReadBack(std::shared_ptr<InFlight> flight) {
  CoordinationStore* store = options_.store;
  store->Sync([this, store, post = options_.post, flight](absl::Status synced) {
    if (!synced.ok()) {
      post([this, flight, synced] { Compare(flight, synced); });
      return;
    }
    store->Get(flight->probe_path, [this, post, flight](absl::StatusOr<Node> node) {
      post([this, flight, node = std::move(node)] { Compare(flight, node); });
    });
  });
}

void BatchWriter::Compare(std::shared_ptr<InFlight> flight, const absl::StatusOr<Node>& node) {
  if (node.ok() && node->data == flight->probe_data) {
    existing_.insert(flight->records.begin(), flight->records.end());
    return Finish(*flight, WriteOutcome::kOk);
  }
  if (node.ok() || absl::IsNotFound(node.status())) return Finish(*flight, WriteOutcome::kFailed);
  if (absl::IsUnavailable(node.status())) return ReadBack(std::move(flight));
  Finish(*flight, WriteOutcome::kDeposed);  // the session is over, and our lead with it
}

void BatchWriter::Finish(const InFlight& flight, WriteOutcome outcome, ServerIndex conflict) {
  const Duration took = MonotonicNow() - flight.sent_at;
  spdlog::debug("app {}: batch {}: {} records, {} bytes, {} us", options_.app.value(), flight.batch,
                flight.records.size(), flight.bytes, took.count());
  if (options_.meter != nullptr) options_.meter->Wrote(outcome, took);
  flight.done({flight.batch, outcome, conflict});
}

}  // namespace shardmanager::orchestrator
