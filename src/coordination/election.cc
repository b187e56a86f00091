#include "coordination/election.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "coordination/envelope.h"

namespace shardmanager {

// Outlives the LeaderElection as long as callbacks of the store hold it; `stopped_`
// keeps those quiet.
class LeaderElection::State : public std::enable_shared_from_this<State> {
 public:
  State(CoordinationStore& store, Paths paths, v1::LeaderRecord self, Callbacks callbacks)
      : store_(store),
        paths_(std::move(paths)),
        self_(std::move(self)),
        callbacks_(std::move(callbacks)) {}

  // Looks at the holder, and watches it.
  void Look() {
    if (stopped()) return;
    const uint64_t look = ++looks_;
    store_.Get(
        paths_.leader_holder(),
        [self = shared_from_this()](absl::StatusOr<Node> node) { self->OnHolder(node); },
        [self = shared_from_this(), look] {
          if (look == self->looks_) self->Look();  // else a later look has its own watch
        });
  }

  void Resign() {
    Stop();
    store_.Get(paths_.leader_holder(), [self = shared_from_this()](absl::StatusOr<Node> node) {
      if (!node.ok() || node->stat.ephemeral_session != self->store_.session_id()) return;
      self->store_.Multi({DeleteNode{self->paths_.leader_holder()}}, [](WriteResult) {});
    });
  }

  void Stop() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }

 private:
  bool stopped() {
    std::lock_guard lock(mutex_);
    return stopped_;
  }

  void OnHolder(const absl::StatusOr<Node>& node) {
    if (stopped()) return;
    if (absl::IsNotFound(node.status())) {
      Lost("its holder node is gone");
      Observe(std::nullopt);
      return Stand();
    }
    if (absl::IsUnavailable(node.status())) return Look();  // waits for the connection
    if (!node.ok()) return Lost("the session is over");
    v1::LeaderRecord record;
    if (!Open(node->data, &record).ok()) record.set_process("unknown (unreadable record)");
    Observe(record);
    if (node->stat.ephemeral_session != store_.session_id()) {
      return Lost("another process holds it");
    }
    if (!epoch_) ReadEpoch();  // a win whose answer was lost
  }

  void Stand() {
    store_.Get(paths_.leader_epoch(), [self = shared_from_this()](absl::StatusOr<Node> node) {
      if (self->stopped()) return;
      if (!node.ok()) return self->Look();
      self->Bid(node->stat.version);
    });
  }

  void Bid(int32_t version) {
    std::vector<WriteOp> ops;
    ops.push_back(CreateNode{paths_.leader_holder(), Seal(self_), /*ephemeral=*/true});
    ops.push_back(SetNode{paths_.leader_epoch(), "", version});
    store_.Multi(std::move(ops), [self = shared_from_this(), version](WriteResult result) {
      if (self->stopped()) return;
      if (!result.status.ok()) return self->Look();  // lost, or unknown: the holder tells
      self->Won(LeaderEpoch(static_cast<uint64_t>(version) + 1));
    });
  }

  // REQUIRES: the holder is ours, so nobody bumps the epoch.
  void ReadEpoch() {
    store_.Get(paths_.leader_epoch(), [self = shared_from_this()](absl::StatusOr<Node> node) {
      if (self->stopped()) return;
      if (!node.ok()) return self->Look();
      self->Won(LeaderEpoch(static_cast<uint64_t>(node->stat.version)));
    });
  }

  void Won(LeaderEpoch epoch) {
    if (epoch_ == epoch) return;
    epoch_ = epoch;
    callbacks_.on_elected(epoch);
  }

  void Lost(std::string why) {
    if (!epoch_) return;
    epoch_.reset();
    callbacks_.on_lost(std::move(why));
  }

  void Observe(std::optional<v1::LeaderRecord> leader) {
    if (callbacks_.on_observed) callbacks_.on_observed(std::move(leader));
  }

  CoordinationStore& store_;
  const Paths paths_;
  const v1::LeaderRecord self_;
  const Callbacks callbacks_;
  std::mutex mutex_;
  bool stopped_ = false;
  std::atomic<uint64_t> looks_{0};
  std::optional<LeaderEpoch> epoch_;  // while we lead; on the session's thread only
};

LeaderElection::LeaderElection(CoordinationStore& store, Paths paths, v1::LeaderRecord self,
                               Callbacks callbacks)
    : state_(std::make_shared<State>(store, std::move(paths), std::move(self),
                                     std::move(callbacks))) {}

LeaderElection::~LeaderElection() { state_->Stop(); }

void LeaderElection::Start() { state_->Look(); }
void LeaderElection::Resign() { state_->Resign(); }

}  // namespace shardmanager
