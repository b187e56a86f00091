// The new owner's side of a transfer: what to ask for, what to store, when it is verified, and
// when the custody may be claimed.
//
//   opening --> (clearing) --> copying --> tailing --> counting --> tailing --> ready
//      |   a copy that is a base                         own rows, all read      |
//      +-------------> tailing                                                   | taken, or
//                                                                                v closed
//                                    done <-- owning <-- finishing <-- claiming
//
//  * copying   reads rows in key order, each as it is when its batch is read
//  * tailing   applies what changed since the copying began: from then on the copy follows.
//              Whenever it is at the end it is compared (count, and sum of row hashes)
//  * counting  reads the own rows back, all of them
//  * claiming  asks for the custody; the old owner serves no more
//  * owning    stores that this copy is the owned one: only now it may be served
//
// At most one action that answers is out at a time. A link that breaks, or a server that
// restarts, is asked again from the same place, until `patience` is over without an answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "base/state_machine.h"
#include "transfer/custody.h"
#include "transfer/row_total.h"

namespace shardmanager::transfer {

struct ReceiverOptions {
  ServerAt self;
  uint64_t bytes_per_second = 0;  // of rows and changes; 0: no limit
  // Without an answer for so long it gives up.
  Duration patience = Seconds(10);
  // A tail of so many changes is short enough for the cutover; so is one that was read and
  // stored within this time (beside `gather`), however many they were.
  uint64_t short_tail = 256;
  Duration short_round = Milliseconds(10);
  // How long the source may gather changes, once the tail is short.
  Duration gather = Milliseconds(20);
};

// ---- events ----
// Of Open.
struct Opened {
  CopyState state = CopyState::kAbsent;
  uint64_t lineage = 0;
  uint64_t first_sequence = 0;  // the feed goes back to this change
  uint64_t last_sequence = 0;
  ServerAt next;  // released: to whom
};
struct RowsCame {
  uint64_t bytes = 0;
  std::string last_key;  // "": none came
  bool done = false;
};
struct ChangesCame {
  uint64_t changes = 0;
  uint64_t bytes = 0;
  uint64_t sequence = 0;
  bool at_end = false;
  Total total;  // at_end: of the source
  bool closed = false;
};
// Of Reset, StoreRows, StoreChanges, Own.
struct Stored {
  Total total;  // of what is here now
};
struct Counted {
  Total total;  // of all rows, read back
};
struct Claimed {
  Verdict verdict = Verdict::kUnknown;
  uint64_t sequence = 0;
  Total total;
  ServerAt other;
  ShardEpoch other_epoch;
};
struct Confirmed {};
// Of whatever was out. OUT_OF_RANGE: the feed does not go back so far. UNAVAILABLE,
// DEADLINE_EXCEEDED: no answer; perhaps it was done. The rest: no.
struct Failed {
  absl::Status status;
};
// AddShard was called: the right to serve is here.
struct Take {};

// ---- actions ----
struct Open {
  ServerAt source;
};
struct ReadRows {
  Place place;
};
struct ReadChanges {
  uint64_t after = 0;
  Duration gather{};
};
// Remove all rows, and store this.
struct Reset {
  Custody custody;
};
// Put what came last, and store this, in one transaction.
struct StoreRows {
  Custody custody;
};
struct StoreChanges {
  Custody custody;
};
struct Count {};
struct SendClaim {
  ShardEpoch given_up;
};
// Durably; only if no claim of somebody else was answered meanwhile.
struct Own {
  Custody custody;
};
struct SendConfirm {};
// ---- (no answer) ----
struct Ready {};     // whole, verified, and following
struct Finished {};  // owned: serve it
struct GiveUp {
  absl::Status status;
};
struct Note {
  std::string text;
};

class Receiver {
 public:
  using Event = std::variant<Opened, RowsCame, ChangesCame, Stored, Counted, Claimed, Confirmed,
                             Failed, Take>;
  using Action = std::variant<Open, ReadRows, ReadChanges, Reset, StoreRows, StoreChanges, Count,
                              SendClaim, Own, SendConfirm, Ready, Finished, GiveUp, Note>;
  enum class State : uint8_t {
    kOpening,
    kClearing,
    kCopying,
    kTailing,
    kCounting,
    kClaiming,
    kFinishing,
    kOwning,
    kConfirming,
    kSpoiled,  // does not agree; removes it, so that the next one begins anew
    kEnded,
  };

  // Of the copy `custody`, for the grant `epoch`, from `source`.
  Receiver(ReceiverOptions options, Custody custody, ShardEpoch epoch, ServerAt source)
      : options_(std::move(options)),
        custody_(std::move(custody)),
        epoch_(epoch),
        source_(std::move(source)) {}

  Output<Action> Start(TimePoint now);
  Output<Action> OnEvent(TimePoint now, Event event);
  Output<Action> OnAdvance(TimePoint now);

  State state() const { return state_; }
  bool ready() const { return ready_; }
  const ServerAt& source() const { return source_; }

 private:
  void On(Opened& event);
  void On(RowsCame& event);
  void On(ChangesCame& event);
  void On(Stored& event);
  void On(Counted& event);
  void On(Claimed& event);
  void On(Confirmed&) { state_ = State::kEnded; }
  void On(Failed& event);
  void On(Take&) { taken_ = true; }

  void GoTo(ServerAt source);
  bool CanGoOnFrom(const Opened& source) const;
  void BeginAnew(uint64_t sequence);
  Custody Following(Place place) const;
  void AtEnd();
  void OwnWhenWhole();
  void OwnNow(uint64_t lineage, uint64_t sequence);
  void Spoil(std::string why);
  void TryAgain(const absl::Status& status);
  void End(absl::Status status);
  void Ask();
  void Pay(uint64_t bytes);
  void Answered();
  Output<Action> Finish();

  const ReceiverOptions options_;
  Custody custody_;
  const ShardEpoch epoch_;
  ServerAt source_;

  TimePoint now_{};
  Output<Action> out_;
  State state_ = State::kOpening;
  bool out_there_ = false;  // an action that answers
  bool storing_ = false;    // what came, not what is asked for next
  bool taken_ = false;
  bool ready_ = false;
  bool counted_ = false;
  bool closed_ = false;      // the source waits for the claim
  bool whole_ = false;       // was equal to the source
  bool full_batch_ = false;  // there is more of the tail
  int hops_ = 0;
  ShardEpoch given_up_;
  uint64_t lineage_ = 0;
  Custody next_;      // being stored
  ChangesCame came_;  // being stored
  uint64_t final_sequence_ = 0;
  Total final_total_;
  std::optional<Total> own_total_;  // of what is stored
  absl::Status spoiled_;
  TimePoint not_before_{};           // rate limit, and waits after failures
  TimePoint asked_{};                // when the changes that came last were asked for
  Duration gathered_{};              // what the source was to wait
  TimePoint answered_{};             // when the source last gave what was asked for
  TimePoint served_since_ = kNever;  // that the source refuses the claim
  uint32_t failures_ = 0;
};

}  // namespace shardmanager::transfer
