#include "coordination/raise_epochs.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordination/cell.h"
#include "coordination/envelope.h"
#include "coordination/paths.h"

namespace shardmanager {
namespace {

// The epoch is the version of a node, so each write of it raises it by one. As many fit into one
// write (kMaxWriteBytes) with the longest path.
constexpr int32_t kRaisesInOneWrite = 1'000;

v1::LeaderRecord RecordOf(const Node& holder) {
  v1::LeaderRecord record;
  if (!Open(holder.data, &record).ok()) record.set_process("unknown");
  return record;
}

// Keeps itself alive by what it awaits.
class Raise : public std::enable_shared_from_this<Raise> {
 public:
  using Done = std::function<void(absl::StatusOr<RaisedEpochs>)>;

  Raise(CoordinationStore& store, RaiseEpochsOptions options, Done done)
      : store_(store),
        options_(std::move(options)),
        paths_(options_.cell),
        done_(std::move(done)) {}

  void Begin() {
    LoadMadeCell(store_, options_.cell, [self = shared_from_this()](const auto& config) {
      if (!config.ok()) return self->done_(config.status());
      self->Look();
    });
  }

 private:
  // What is stored decides what to do next.
  void Look() {
    store_.Get(paths_.leader_holder(), [self = shared_from_this()](const auto& holder) {
      if (absl::IsUnavailable(holder.status())) return self->Look();
      if (self->options_.dry_run) return self->LookOnly(holder);
      const bool ours = holder.ok() && holder->stat.ephemeral_session == self->store_.session_id();
      if (holder.ok() && !ours) return self->AwaitTurn();
      if (!holder.ok() && !absl::IsNotFound(holder.status())) {
        return self->done_(holder.status());
      }
      self->Read(ours);
    });
  }

  void LookOnly(const absl::StatusOr<Node>& holder) {
    if (!holder.ok() && !absl::IsNotFound(holder.status())) return done_(holder.status());
    if (holder.ok()) waits_for_ = RecordOf(*holder);
    Read(/*leads=*/false);
  }

  void AwaitTurn() {
    const uint64_t turn = waits_ = ++last_wait_;
    store_.Get(
        paths_.leader_holder(),
        [self = shared_from_this(), turn](const auto& holder) {
          if (!holder.ok()) return self->StopWaiting(turn);
          if (self->options_.on_wait) self->options_.on_wait(RecordOf(*holder));
        },
        [self = shared_from_this(), turn] { self->StopWaiting(turn); });
  }

  // The answer and the watch may both say that the wait is over.
  void StopWaiting(uint64_t turn) {
    if (waits_ != turn) return;
    waits_ = 0;
    Look();
  }

  void Read(bool leads) {
    store_.Get(paths_.leader_epoch(), [self = shared_from_this(), leads](const auto& epoch) {
      if (absl::IsUnavailable(epoch.status())) return self->Look();
      if (!epoch.ok()) return self->done_(epoch.status());
      const int32_t version = epoch->stat.version;
      if (!self->from_) self->from_ = version;
      const int64_t to = int64_t{*self->from_} + self->options_.by;
      if (version >= to) return self->ReadCell(version);
      if (self->options_.dry_run) return self->ReadCell(static_cast<int32_t>(to));
      self->Write(leads, version, static_cast<int32_t>(to - version));
    });
  }

  // Each write names the version that it finds, so nobody else raises meanwhile.
  void Write(bool leads, int32_t version, int32_t left) {
    std::vector<WriteOp> ops;
    if (!leads) {
      ops.push_back(CreateNode{paths_.leader_holder(), Seal(options_.self), /*ephemeral=*/true});
    }
    for (int32_t i = 0; i < std::min(left, kRaisesInOneWrite); ++i) {
      ops.push_back(SetNode{paths_.leader_epoch(), "", version + i});
    }
    MakeWrite(std::move(ops));
  }

  // Epochs are raised, to `version`: now the time when the cell was made.
  void ReadCell(int32_t version) {
    store_.Get(paths_.config(), [self = shared_from_this(), version](const auto& node) {
      if (absl::IsUnavailable(node.status())) return self->Look();
      if (!node.ok()) return self->done_(node.status());
      v1::CellConfig config;
      if (absl::Status status = Open(node->data, &config); !status.ok()) {
        return self->done_(status);
      }
      if (!self->made_ms_) {
        self->made_ms_ = std::max(self->options_.now_ms, config.made_ms() + 1);
      }
      if (config.made_ms() >= *self->made_ms_ || self->options_.dry_run) {
        return self->done_(RaisedEpochs{static_cast<uint32_t>(*self->from_),
                                        static_cast<uint32_t>(version), *self->made_ms_,
                                        self->waits_for_});
      }
      config.set_made_ms(*self->made_ms_);
      std::vector<WriteOp> ops;
      ops.push_back(CheckVersion{self->paths_.leader_epoch(), version});
      ops.push_back(SetNode{self->paths_.config(), Seal(config), node->stat.version});
      self->MakeWrite(std::move(ops));
    });
  }

  // Whatever became of it: what is stored then decides.
  void MakeWrite(std::vector<WriteOp> ops) {
    store_.Multi(std::move(ops), [self = shared_from_this()](const WriteResult& result) {
      const bool faster =
          absl::IsFailedPrecondition(result.status) || absl::IsAlreadyExists(result.status);
      if (result.status.ok() || faster || absl::IsUnavailable(result.status)) return self->Look();
      self->done_(result.status);
    });
  }

  CoordinationStore& store_;
  const RaiseEpochsOptions options_;
  const Paths paths_;
  const Done done_;
  std::optional<v1::LeaderRecord> waits_for_;  // of a dry run
  std::optional<int32_t> from_;
  std::optional<int64_t> made_ms_;  // what it is to be
  uint64_t last_wait_ = 0;
  uint64_t waits_ = 0;  // the wait that goes on; 0: none
};

}  // namespace

void RaiseEpochs(CoordinationStore& store, RaiseEpochsOptions options,
                 std::function<void(absl::StatusOr<RaisedEpochs>)> done) {
  std::make_shared<Raise>(store, std::move(options), std::move(done))->Begin();
}

}  // namespace shardmanager
