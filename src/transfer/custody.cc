#include "transfer/custody.h"

#include <xxhash.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "shardmanager/v1/transfer.pb.h"

namespace shardmanager::transfer {
namespace {

// More is no record of ours: a key has at most 64 KiB.
constexpr size_t kMostRecordBytes = 128 << 10;

absl::Status Stale(ShardEpoch epoch, ShardEpoch seen) {
  return absl::AbortedError(absl::StrCat(
      "epoch ", epoch.value(), " is too old for this copy, which has seen ", seen.value()));
}

// The highest that counts here.
ShardEpoch Seen(const Custody& custody) { return std::max(custody.epoch, custody.floor); }

Custody ReleasedTo(const Custody& custody, const Claim& claim, uint64_t last, int64_t now_ms) {
  Custody next = custody;
  if (custody.state == CopyState::kOwned) {
    next.place = {.started = true, .copied = true, .sequence = last};
    next.at_ms = now_ms;
  }
  next.state = CopyState::kReleased;
  next.other = claim.taker;
  next.other_epoch = claim.epoch;
  next.floor = claim.epoch;
  next.confirmed = false;
  return next;
}

ClaimAnswer AnswerFromReleased(const Custody& custody, const Claim& claim, int64_t now_ms) {
  if (claim.taker.server == custody.other.server && claim.epoch == custody.other_epoch) {
    return {.verdict = Verdict::kReleased};
  }
  if (claim.epoch <= custody.other_epoch) return {.verdict = Verdict::kStale};
  // The taker asks anew under a newer grant: it never got as far as to own it, or it would not.
  const bool again = claim.taker.server == custody.other.server;
  if ((again || claim.given_up == custody.other_epoch) && !custody.confirmed) {
    return {.verdict = Verdict::kReleased, .next = ReleasedTo(custody, claim, 0, now_ms)};
  }
  return {
      .verdict = Verdict::kElsewhere, .other = custody.other, .other_epoch = custody.other_epoch};
}

}  // namespace

std::string_view ToString(CopyState state) {
  constexpr std::array<std::string_view, 4> kNames = {"absent", "receiving", "owned", "released"};
  return kNames[static_cast<size_t>(state)];
}

// ---- as bytes ----

std::string Seal(const Custody& custody) {
  v1::Custody record;
  record.set_state(static_cast<v1::CopyState>(custody.state));
  record.set_epoch(custody.epoch.value());
  record.set_floor(custody.floor.value());
  record.set_lineage(custody.lineage);
  record.set_started(custody.place.started);
  record.set_after(custody.place.after);
  record.set_copied(custody.place.copied);
  record.set_sequence(custody.place.sequence);
  record.set_other_server(custody.other.server);
  record.set_other_endpoint(custody.other.endpoint);
  record.set_other_epoch(custody.other_epoch.value());
  record.set_confirmed(custody.confirmed);
  record.set_at_ms(custody.at_ms);
  record.set_pruned(custody.pruned);
  v1::CustodyRecord sealed;
  sealed.set_record(record.SerializeAsString());
  sealed.set_checksum(XXH64(sealed.record().data(), sealed.record().size(), 0));
  return sealed.SerializeAsString();
}

absl::StatusOr<Custody> Unseal(std::string_view bytes) {
  if (bytes.empty()) return Custody{};
  if (bytes.size() > kMostRecordBytes) {
    return absl::DataLossError(absl::StrCat("custody record: found ", bytes.size(),
                                            " bytes; allowed: at most ", kMostRecordBytes));
  }
  v1::CustodyRecord sealed;
  if (!sealed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      sealed.checksum() != XXH64(sealed.record().data(), sealed.record().size(), 0)) {
    return absl::DataLossError("custody record: its checksum does not fit");
  }
  v1::Custody record;
  if (!record.ParseFromString(sealed.record()) || !v1::CopyState_IsValid(record.state())) {
    return absl::DataLossError("custody record: it does not parse, or is of a newer version");
  }
  return Custody{.state = static_cast<CopyState>(record.state()),
                 .epoch = ShardEpoch(record.epoch()),
                 .floor = ShardEpoch(record.floor()),
                 .lineage = record.lineage(),
                 .place = {record.started(), record.after(), record.copied(), record.sequence()},
                 .other = {record.other_server(), record.other_endpoint()},
                 .other_epoch = ShardEpoch(record.other_epoch()),
                 .confirmed = record.confirmed(),
                 .at_ms = record.at_ms(),
                 .pruned = record.pruned()};
}

// ---- the new owner's commands ----

absl::StatusOr<AddDecision> DecideAdd(const Custody& custody, ShardEpoch epoch, bool make_new,
                                      int64_t now_ms) {
  AddDecision decision{.next = custody};
  switch (custody.state) {
    case CopyState::kOwned:
      if (epoch < Seen(custody)) return Stale(epoch, Seen(custody));
      decision.next.epoch = decision.next.floor = epoch;
      return decision;
    case CopyState::kReceiving:
    case CopyState::kReleased:
      // What was released may come back only under an epoch above the one it went to.
      if (epoch < Seen(custody)) return Stale(epoch, Seen(custody));
      if (Planted(Defect::kServesReleasedCopy) && custody.state == CopyState::kReleased) {
        decision.next.state = CopyState::kOwned;
        decision.next.epoch = epoch;
        return decision;
      }
      decision.step = AddStep::kReceive;
      decision.from = custody.other;
      return decision;
    case CopyState::kAbsent:
      break;
  }
  if (!make_new) {
    return absl::FailedPreconditionError(
        "there is no copy of this shard here, and nobody said that it is new: it must come from "
        "the server that has it, or be made by an operator");
  }
  decision.next = {.state = CopyState::kOwned,
                   .epoch = epoch,
                   .floor = epoch,
                   .lineage = epoch.value(),
                   .at_ms = now_ms};
  return decision;
}

absl::Status CheckPrepare(const Custody& custody, ShardEpoch epoch) {
  if (epoch < Seen(custody)) return Stale(epoch, Seen(custody));
  if (custody.state != CopyState::kOwned) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this server owns a copy of the shard (since epoch ", custody.epoch.value(),
      ") that it never gave away; it would be overwritten: which of the two is right, an operator "
      "must say"));
}

// ---- what others ask ----

ClaimAnswer AnswerClaim(const Custody& custody, bool open, uint64_t last, const Claim& claim,
                        int64_t now_ms) {
  if (custody.state == CopyState::kAbsent) return {.verdict = Verdict::kUnknown};
  if (custody.state == CopyState::kReleased) return AnswerFromReleased(custody, claim, now_ms);
  if (custody.state == CopyState::kReceiving) {
    if (claim.epoch < Seen(custody)) return {.verdict = Verdict::kStale};
    ClaimAnswer answer{
        .verdict = Verdict::kGaveUp, .other = custody.other, .other_epoch = custody.epoch};
    if (claim.epoch > custody.floor && !Planted(Defect::kForgetsItGaveUp)) {
      answer.next = custody;
      answer.next->floor = claim.epoch;
    }
    return answer;
  }
  if (claim.epoch <= Seen(custody)) return {.verdict = Verdict::kStale};
  if (open && !Planted(Defect::kReleasesWhileOpen)) return {.verdict = Verdict::kServing};
  return {.verdict = Verdict::kReleased, .next = ReleasedTo(custody, claim, last, now_ms)};
}

absl::Status CheckReader(const Custody& custody, const ServerAt& taker, ShardEpoch epoch) {
  if (custody.pruned) return absl::FailedPreconditionError("this copy has been pruned");
  if (custody.state == CopyState::kOwned) {
    if (epoch <= Seen(custody)) return Stale(epoch, Seen(custody));
    return absl::OkStatus();
  }
  // Also one that asks with the epoch of somebody who gave up: its claim will tell.
  if (custody.state == CopyState::kReleased && epoch >= custody.other_epoch) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the copy here is ", std::string(ToString(custody.state)), ", nothing for ", taker.server));
}

absl::Status CheckStore(const Custody& custody, ShardEpoch epoch) {
  return custody.floor > epoch ? Stale(epoch, custody.floor) : absl::OkStatus();
}

std::optional<Custody> Confirm(const Custody& custody, const std::string& taker, ShardEpoch epoch) {
  const bool awaited = custody.state == CopyState::kReleased && !custody.confirmed &&
                       custody.other.server == taker && custody.other_epoch == epoch;
  if (!awaited) return std::nullopt;
  Custody next = custody;
  next.confirmed = true;
  return next;
}

bool HasArrived(const Custody& custody, const CopyThere& taker) {
  const bool whole = taker.state == CopyState::kOwned || taker.state == CopyState::kReleased;
  return custody.state == CopyState::kReleased && whole && taker.lineage == custody.lineage &&
         taker.last_sequence >= custody.place.sequence;
}

// ---- pruning ----

std::optional<int64_t> PruneAt(const Custody& custody, int64_t grace_ms) {
  if (custody.pruned) return std::nullopt;
  const bool given_up = custody.state == CopyState::kReceiving && custody.floor > custody.epoch;
  const bool passed_on = custody.state == CopyState::kReleased && custody.confirmed;
  if (!given_up && !passed_on) return std::nullopt;
  return custody.at_ms + grace_ms;
}

Custody Pruned(const Custody& custody) {
  Custody next = custody;
  next.place = {};
  next.pruned = true;
  return next;
}

}  // namespace shardmanager::transfer
