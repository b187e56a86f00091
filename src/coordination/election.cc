#include "coordination/election.h"

#include <mutex>
#include <utility>
#include <vector>

#include "coordination/envelope.h"
#include "runtime/logging.h"

namespace shardmanager {

// Outlives the LeaderElection as long as callbacks of the store hold it; once it
// stands no more, those find nothing to do.
//
// Elections are serialized by the store: the holder node and the epoch change
// together, in one multi that asks for the epoch's version. So if the holder is ours
// and the epoch has not changed since before we saw that, the epoch is ours too.
class LeaderElection::State : public std::enable_shared_from_this<State> {
  // A callback for the store that does nothing once we have stopped.
  template <typename Handler>
  auto WhileStanding(Handler handler) {
    return [self = shared_from_this(), handler](auto&&... args) {
      std::lock_guard lock(self->mutex_);
      if (self->standing_) handler(*self, args...);
    };
  }

 public:
  State(CoordinationStore& store, Paths paths, v1::LeaderRecord self, Callbacks callbacks)
      : store_(store),
        paths_(std::move(paths)),
        self_(std::move(self)),
        callbacks_(std::move(callbacks)) {}

  // Looks at the holder, and watches it.
  void Look() {
    std::lock_guard lock(mutex_);
    if (!standing_) return;
    const uint64_t look = ++looks_;
    store_.Get(paths_.leader_holder(),
               WhileStanding([look](State& s, const absl::StatusOr<Node>& holder) {
                 if (look == s.looks_) s.OnHolder(holder);  // else a later look will answer
               }),
               WhileStanding([look](State& s) {
                 if (look == s.looks_) s.Look();  // else a later look has its own watch
               }));
  }

  void Resign() {
    std::lock_guard lock(mutex_);
    if (std::exchange(standing_, false)) Release();
  }

  // No callback of ours runs any more when this returns.
  void Stop() {
    std::lock_guard lock(mutex_);
    standing_ = false;
  }

 private:
  bool IsOurs(const Node& holder) const {
    return holder.stat.ephemeral_session == store_.session_id();
  }

  void OnHolder(const absl::StatusOr<Node>& holder) {
    if (absl::IsUnavailable(holder.status())) return Look();  // waits for the connection
    if (absl::IsNotFound(holder.status())) {
      Lost("its holder node is gone");
      Observe(std::nullopt);
      return Stand();
    }
    if (absl::IsAborted(holder.status())) return Lost("the session has expired");
    if (!holder.ok()) {  // it will not be answered otherwise if it is asked again
      LogError("who leads cannot be read, and this process does not stand any more: {}",
               holder.status().ToString());
      return Lost(std::string(holder.status().message()));
    }

    v1::LeaderRecord record;
    if (!Open(holder->data, &record).ok()) {
      record.Clear();
      record.set_process("unknown (unreadable record)");
    }
    const bool ours = IsOurs(*holder);
    if (!ours) Lost("another process holds it");
    Observe(record);
    if (ours && !epoch_) Adopt();
  }

  void Stand() {
    store_.Get(paths_.leader_epoch(),
               WhileStanding([](State& s, const absl::StatusOr<Node>& epoch) {
                 if (epoch.ok()) return s.Bid(epoch->stat.version);
                 if (absl::IsNotFound(epoch.status())) return s.AwaitCell();
                 s.Look();
               }));
  }

  void AwaitCell() {
    store_.Get(paths_.leader_epoch(),
               WhileStanding([](State& s, const absl::StatusOr<Node>& epoch) {
                 if (!absl::IsNotFound(epoch.status())) s.Look();
               }),
               WhileStanding([](State& s) { s.Look(); }));
  }

  void Bid(int32_t version) {
    std::vector<WriteOp> ops;
    v1::LeaderRecord record = self_;
    record.set_epoch(static_cast<uint64_t>(version) + 1);
    ops.push_back(CreateNode{paths_.leader_holder(), Seal(record), /*ephemeral=*/true});
    ops.push_back(SetNode{paths_.leader_epoch(), "", version});
    store_.Multi(std::move(ops), WhileStanding([version](State& s, const WriteResult& result) {
                   if (result.status.ok()) return s.Won(version + 1);
                   s.Look();  // lost, or unknown: the holder tells
                 }));
  }

  // We hold it and do not know the epoch: the answer to our bid was lost.
  void Adopt() {
    IfOurs([self = shared_from_this()](int32_t epoch) {
      std::vector<WriteOp> unchanged;
      unchanged.push_back(CheckVersion{self->paths_.leader_epoch(), epoch});
      unchanged.push_back(CheckVersion{self->paths_.leader_holder(), kAnyVersion});
      self->store_.Multi(std::move(unchanged),
                         self->WhileStanding([epoch](State& s, const WriteResult& result) {
                           if (result.status.ok()) return s.Won(epoch);
                           s.Look();
                         }));
    });
  }

  // Deletes the holder if it is ours. A bid in flight is decided before the reads.
  void Release() {
    IfOurs([self = shared_from_this()](int32_t epoch) {
      std::vector<WriteOp> ops;
      ops.push_back(CheckVersion{self->paths_.leader_epoch(), epoch});
      ops.push_back(DeleteNode{self->paths_.leader_holder()});
      self->store_.Multi(std::move(ops), [self](WriteResult result) {
        if (absl::IsUnavailable(result.status)) self->Release();
      });
    });
  }

  // `then` gets the epoch as it was before the holder was seen to be ours.
  void IfOurs(std::function<void(int32_t epoch)> then) {
    auto epoch = std::make_shared<absl::StatusOr<Node>>();
    store_.Get(paths_.leader_epoch(), [epoch](absl::StatusOr<Node> node) { *epoch = node; });
    store_.Get(paths_.leader_holder(),
               [self = shared_from_this(), epoch, then](const absl::StatusOr<Node>& holder) {
                 if (absl::IsUnavailable(epoch->status()) || absl::IsUnavailable(holder.status())) {
                   return self->IfOurs(then);
                 }
                 if (epoch->ok() && holder.ok() && self->IsOurs(*holder))
                   return then((*epoch)->stat.version);
                 self->Look();
               });
  }

  void Won(int32_t version) {
    const LeaderEpoch epoch(static_cast<uint64_t>(version));
    if (epoch_ == epoch) return;
    epoch_ = epoch;
    if (callbacks_.on_elected) callbacks_.on_elected(epoch);
  }

  void Lost(std::string why) {
    if (!epoch_) return;
    epoch_.reset();
    if (callbacks_.on_lost) callbacks_.on_lost(std::move(why));
  }

  void Observe(const std::optional<v1::LeaderRecord>& leader) {
    std::string seen = leader ? "leader " + leader->SerializeAsString() : "nobody";
    if (std::exchange(observed_, seen) == seen || !callbacks_.on_observed) return;
    callbacks_.on_observed(leader);
  }

  CoordinationStore& store_;
  const Paths paths_;
  const v1::LeaderRecord self_;
  const Callbacks callbacks_;
  // Held while a callback runs, which may resign.
  std::recursive_mutex mutex_;
  bool standing_ = true;
  uint64_t looks_ = 0;
  std::string observed_;
  std::optional<LeaderEpoch> epoch_;  // while we lead
};

LeaderElection::LeaderElection(CoordinationStore& store, Paths paths, v1::LeaderRecord self,
                               Callbacks callbacks)
    : state_(std::make_shared<State>(store, std::move(paths), std::move(self),
                                     std::move(callbacks))) {}

LeaderElection::~LeaderElection() { state_->Stop(); }

void LeaderElection::Start() { state_->Look(); }
void LeaderElection::Resign() { state_->Resign(); }

}  // namespace shardmanager
