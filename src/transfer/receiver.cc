#include "transfer/receiver.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"

namespace shardmanager::transfer {
namespace {

constexpr Duration kFirstRetry = Milliseconds(20);
constexpr uint32_t kMostDoublings = 5;
// The custody goes from server to server: more in a row is a circle.
constexpr int kMostHops = 8;

bool NobodyAnswered(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status);
}

}  // namespace

Output<Receiver::Action> Receiver::Start(TimePoint now) {
  now_ = answered_ = now;
  return Finish();
}

Output<Receiver::Action> Receiver::OnEvent(TimePoint now, Event event) {
  now_ = now;
  if (!std::holds_alternative<Take>(event)) out_there_ = false;
  if (state_ != State::kEnded) {
    std::visit([this](auto& e) { On(e); }, event);
  }
  return Finish();
}

Output<Receiver::Action> Receiver::OnAdvance(TimePoint now) {
  now_ = now;
  return Finish();
}

Output<Receiver::Action> Receiver::Finish() {
  if (!out_there_ && state_ != State::kEnded) {
    if (storing_ || now_ >= not_before_) {
      Ask();
      out_there_ = true;
    } else {
      out_.next_wake = not_before_;
    }
  }
  return std::exchange(out_, {});
}

// What the state is about.
void Receiver::Ask() {
  auto& actions = out_.actions;
  switch (state_) {
    case State::kOpening:
      actions.emplace_back(Open{source_});
      break;
    case State::kClearing:
    case State::kSpoiled:
      actions.emplace_back(Reset{next_});
      break;
    case State::kCopying:
      storing_ ? actions.emplace_back(StoreRows{next_})
               : actions.emplace_back(ReadRows{custody_.place});
      break;
    case State::kTailing:
    case State::kFinishing: {
      const bool hurry = state_ == State::kFinishing || full_batch_ || !counted_;
      if (storing_) {
        actions.emplace_back(StoreChanges{next_});
        break;
      }
      asked_ = now_;
      gathered_ = hurry ? Duration() : options_.gather;
      actions.emplace_back(ReadChanges{custody_.place.sequence, gathered_});
      break;
    }
    case State::kCounting:
      actions.emplace_back(Count{});
      break;
    case State::kClaiming:
      actions.emplace_back(SendClaim{given_up_});
      break;
    case State::kOwning:
      actions.emplace_back(Own{next_});
      break;
    case State::kConfirming:
      actions.emplace_back(SendConfirm{});
      break;
    case State::kEnded:
      break;
  }
}

void Receiver::Answered() {
  answered_ = now_;
  failures_ = 0;
}

// The next request waits until the rate allows what came.
void Receiver::Pay(uint64_t bytes) {
  if (options_.bytes_per_second == 0) return;
  const auto cost = static_cast<int64_t>(1e6 * static_cast<double>(bytes) /
                                         static_cast<double>(options_.bytes_per_second));
  not_before_ = std::max(not_before_, now_) + Duration(cost);
}

// ---- where to begin ----

void Receiver::GoTo(ServerAt source) {
  if (++hops_ > kMostHops) {
    return End(absl::FailedPreconditionError(absl::StrCat(
        "the custody of the shard could not be found: ", kMostHops, " servers were asked")));
  }
  source_ = std::move(source);
  whole_ = false;
  state_ = State::kOpening;
}

void Receiver::On(Opened& event) {
  Answered();
  const std::string at = absl::StrCat("server ", source_.server, " at ", source_.endpoint);
  if (event.state == CopyState::kAbsent) {
    return End(absl::FailedPreconditionError(absl::StrCat(at, " has no trace of the shard")));
  }
  if (event.state == CopyState::kReceiving && !taken_) {
    return End(absl::FailedPreconditionError(absl::StrCat(at, " has no whole copy itself")));
  }
  if (event.state == CopyState::kReceiving) {  // will it ever be whole? See AnswerClaim
    state_ = State::kClaiming;
    return;
  }
  if (event.state == CopyState::kReleased && event.next.server != options_.self.server &&
      given_up_ == ShardEpoch()) {
    return GoTo(event.next);
  }
  // Ours may be the only whole one of its kind.
  const bool needed = custody_.state == CopyState::kReleased && !custody_.confirmed;
  if (needed && custody_.lineage != event.lineage) {
    return End(absl::FailedPreconditionError(
        absl::StrCat(at, " has a copy that was made under epoch ", event.lineage,
                     "; it would overwrite the one here, of epoch ", custody_.lineage,
                     ", which nobody has confirmed to have")));
  }
  lineage_ = event.lineage;
  if (!CanGoOnFrom(event)) return BeginAnew(event.last_sequence);
  state_ = custody_.place.copied ? State::kTailing : State::kCopying;
}

// What is here is a part of the source's past.
bool Receiver::CanGoOnFrom(const Opened& source) const {
  const Place& place = custody_.place;
  const bool partial =
      custody_.state == CopyState::kReceiving || custody_.state == CopyState::kReleased;
  return partial && !custody_.pruned && custody_.lineage == source.lineage &&
         (place.started || place.copied) && source.first_sequence <= place.sequence + 1 &&
         place.sequence <= source.last_sequence;
}

void Receiver::BeginAnew(uint64_t sequence) {
  next_ = Following({.sequence = sequence});
  counted_ = false;
  state_ = State::kClearing;
}

// The record of a copy that is on its way.
Custody Receiver::Following(Place place) const {
  return {.state = CopyState::kReceiving,
          .epoch = epoch_,
          .floor = epoch_,
          .lineage = lineage_,
          .place = std::move(place),
          .other = source_};
}

// ---- copying and following ----

void Receiver::On(RowsCame& event) {
  Answered();
  Pay(event.bytes);
  Place place = custody_.place;
  if (!event.last_key.empty()) {
    place.started = true;
    place.after = event.last_key;
  }
  place.copied = event.done;
  if (event.done) place.after.clear();
  next_ = Following(std::move(place));
  storing_ = true;
}

void Receiver::On(ChangesCame& event) {
  Answered();
  Pay(event.bytes);
  closed_ = event.closed;
  full_batch_ = !event.at_end;
  came_ = event;
  Place place = custody_.place;
  place.sequence = event.sequence;
  const bool news = event.sequence != custody_.place.sequence || !own_total_;
  if (!news) return event.at_end ? AtEnd() : void();
  next_ = Following(std::move(place));
  storing_ = true;
}

void Receiver::On(Stored& event) {
  answered_ = std::max(answered_, now_);  // the source is not to blame for the time
  storing_ = false;
  own_total_ = event.total;
  const State was = state_;
  if (was == State::kSpoiled) return End(spoiled_);
  custody_ = next_;
  if (was == State::kClearing) {
    state_ = State::kCopying;
  } else if (was == State::kCopying) {
    if (custody_.place.copied) state_ = State::kTailing;
  } else if (was == State::kOwning) {
    out_.actions.emplace_back(Finished{});
    state_ = State::kConfirming;
  } else if (was == State::kFinishing) {
    OwnWhenWhole();
  } else if (came_.at_end) {
    AtEnd();
  }
}

// All that the source had when it answered is here.
void Receiver::AtEnd() {
  if (state_ == State::kFinishing) return OwnWhenWhole();
  if (*own_total_ != came_.total) {
    return Spoil(absl::StrCat("the copy has ", own_total_->count, " rows with the sum ",
                              own_total_->sum, ", the source ", came_.total.count, " with ",
                              came_.total.sum));
  }
  whole_ = true;
  if (!counted_ && !closed_) {  // nobody waits yet
    state_ = State::kCounting;
    return;
  }
  if (taken_ || closed_) {
    state_ = State::kClaiming;
    return;
  }
  const bool quick = now_ - asked_ <= gathered_ + options_.short_round;
  if (!ready_ && (quick || came_.changes <= options_.short_tail)) {
    ready_ = true;
    out_.actions.emplace_back(Ready{});
  }
}

void Receiver::On(Counted& event) {
  answered_ = now_;
  counted_ = true;
  state_ = State::kTailing;
  if (event.total == *own_total_) return;
  Spoil(absl::StrCat("read back, the copy has ", event.total.count, " rows with the sum ",
                     event.total.sum, "; stored were ", own_total_->count, " with ",
                     own_total_->sum));
}

// The next attempt begins with nothing. The source is as it was.
void Receiver::Spoil(std::string why) {
  spoiled_ = absl::DataLossError(absl::StrCat("verification failed: ", why));
  lineage_ = 0;
  next_ = Following({});
  state_ = State::kSpoiled;
}

// ---- the custody ----

void Receiver::On(Claimed& event) {
  failures_ = 0;
  switch (event.verdict) {
    case Verdict::kReleased:
      answered_ = now_;
      if (!whole_) return GoTo(source_);  // it had become whole since it was opened
      final_sequence_ = event.sequence;
      final_total_ = event.total;
      state_ = State::kFinishing;
      return OwnWhenWhole();
    case Verdict::kServing:
      closed_ = false;
      state_ = State::kTailing;
      served_since_ = std::min(served_since_, now_);
      if (!taken_) return;
      if (now_ - served_since_ < options_.patience) {
        not_before_ = std::max(not_before_, now_ + options_.gather);
        return;
      }
      return End(absl::UnavailableError(
          absl::StrCat("server ", source_.server, " still serves the shard")));
    case Verdict::kGaveUp: {
      const bool from_here = event.other.server == options_.self.server;
      if (from_here && custody_.state == CopyState::kReleased && !custody_.confirmed) {
        return OwnNow(custody_.lineage, custody_.place.sequence);
      }
      if (from_here) {  // it had everything once, and may have changed it
        return End(absl::FailedPreconditionError(
            absl::StrCat("server ", source_.server,
                         " gave up a copy that it was to get from this server, "
                         "whose own one is not the newest")));
      }
      given_up_ = event.other_epoch;
      return GoTo(event.other);
    }
    case Verdict::kElsewhere:
      given_up_ = ShardEpoch();
      return GoTo(event.other);
    case Verdict::kStale:
      return End(absl::AbortedError(absl::StrCat("server ", source_.server,
                                                 " has seen a newer epoch than ", epoch_.value())));
    case Verdict::kUnknown:
      break;
  }
  End(absl::FailedPreconditionError(
      absl::StrCat("server ", source_.server, " has no trace of the shard any more")));
}

// After the claim: the source does not change any more.
void Receiver::OwnWhenWhole() {
  const uint64_t sequence = custody_.place.sequence;
  if (!Planted(Defect::kOwnsBeforeTheEnd)) {
    if (sequence < final_sequence_) return;  // more is asked for
    if (sequence > final_sequence_ || *own_total_ != final_total_) {
      return Spoil(absl::StrCat("at the end the copy has change ", sequence, ", ",
                                own_total_->count, " rows with the sum ", own_total_->sum,
                                ", the source change ", final_sequence_, ", ", final_total_.count,
                                " rows with ", final_total_.sum));
    }
  }
  OwnNow(lineage_, sequence);
}

void Receiver::OwnNow(uint64_t lineage, uint64_t sequence) {
  next_ = {.state = CopyState::kOwned,
           .epoch = epoch_,
           .floor = epoch_,
           .lineage = lineage,
           .place = {.started = true, .copied = true, .sequence = sequence}};
  state_ = State::kOwning;
}

// ---- failures ----

void Receiver::On(Failed& event) {
  const bool own = storing_ || state_ == State::kClearing || state_ == State::kCounting ||
                   state_ == State::kOwning || state_ == State::kSpoiled;
  storing_ = false;
  if (own) return End(state_ == State::kSpoiled ? spoiled_ : event.status);
  if (NobodyAnswered(event.status)) return TryAgain(event.status);
  if (state_ == State::kConfirming) return End(event.status);
  if (absl::IsOutOfRange(event.status)) {  // the feed was cut: from the beginning
    out_.actions.emplace_back(Note{absl::StrCat("begins anew: ", event.status.message())});
    custody_.place = {};
    return GoTo(source_);
  }
  End(event.status);
}

void Receiver::TryAgain(const absl::Status& status) {
  if (now_ - answered_ >= options_.patience) {
    return End(absl::UnavailableError(
        absl::StrCat("server ", source_.server, " at ", source_.endpoint, ": ", status.message())));
  }
  const uint32_t doublings = std::min(failures_++, kMostDoublings);
  not_before_ = std::max(not_before_, now_ + kFirstRetry * (1 << doublings));
}

void Receiver::End(absl::Status status) {
  const bool served = state_ == State::kConfirming;  // what is left is only to tell
  state_ = State::kEnded;
  if (!served) out_.actions.emplace_back(GiveUp{std::move(status)});
}

}  // namespace shardmanager::transfer
