// Defects that are planted on purpose, to prove that the checkers of the simulation
// catch them. In release builds Planted() is the constant false: nothing of this is in
// them. A build with SM_DEFECTS (the build type Dev) has all of them, off until a test
// sets one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace shardmanager {

enum class Defect : uint8_t {
  kNone,
  kNoEpochCheck,            // a server obeys grants older than what it has seen
  kNoLeaseMargin,           // the lease runs for the whole session time-out
  kLeaseFromSendTime,       // a renewal counts, though the store's leader may not know of it
  kNoLease,                 // primary work is admitted without a lease
  kLeaseByPlainRead,        // the lease is renewed without a sync
  kLeaseWithoutWrites,      // the lease is renewed by syncs alone
  kNoLeaderFence,           // commands and writes of deposed leaders count
  kActBeforePersist,        // commands go out before their write is durable
  kNoRegistrationCheck,     // a failover is written though the server came back
  kDropWithoutDraining,     // a drop does not wait for requests in flight
  kDropNotAwaited,          // the next owner is granted before the last one has stopped
  kEpochsBeginAnew,         // a new leader's epochs are not above the old one's
  kDeltasWithoutSnapshot,   // a new subscriber gets changes only
  kAcknowledgeBeforeWrite,  // operators hear that a change is safe before it is
  kRetryEverything,         // the router repeats calls that are not idempotent
  kReopensAfterHandover,    // a late repeat of a grant opens what was handed over
  kServesWhilePreparing,    // a new owner admits everybody before the old one has let go
  kAnyMembers,              // a late list of members counts
  kElectsAnyone,            // a secondary that is not in step becomes the primary
  kPromotesEarly,           // a new primary is granted before the old one has turned
  kSurplusFirst,            // a secondary leaves before the one that replaces it serves
  kForgetsMembers,          // members that are lost leave, though most of them are
  kForgetsFailedMoves,      // a move that failed on one server may go where one failed before
  kStarvesMembers,          // a secondary that cannot come into step keeps the others from it
  kTrustsSickServers,       // a server on which everything fails is given more
  kLeavesItWithTheSick,     // a shard whose new owner cannot add it stays with that one
  kGrantsPrimariesAnew,  // a primary that is not demoted after all waits for its requests once more
  kNeverCallsOff,        // a handover that the old owner cannot let go for is asked for for ever
  kForgetsTheLost,       // a server that ended while it was looked at stays live
  kLeadsWithoutALease,   // a leader that is cut off from the store answers as the leader
  kClingsToTheOldCell,   // maps of a cell that was made anew do not replace the old one's
  kNoRecheck,            // a failover that met a new life does not look what became of it
  kShowsGreen,           // what is written down as granted is shown as served
  kMovesWhilePaused,     // a pause is forgotten by the next leader
  kMovesWhatIsPinned,    // a pin is forgotten by the next leader
  kForgetsRegions,       // what was ordered about regions is forgotten by the next leader
  kIgnoresRegions,       // what the spec wants in regions is no goal of plans
  kPreparesForNothing,   // what has to leave before a maintenance stays
  kForgetsWhereTheyStood,      // a new leader does not know where servers stood that are down
  kNeverScalesDown,            // a shard keeps the replicas that its load needed once
  kStaysWhereItIsNotAskedFor,  // shards do not follow their requests
  kElectsWhoIsBackFirst,       // whoever had everything before all began anew is not asked for
  kStopsAllTheSame,            // a server that is cut off stops, though it is to keep serving
  // Of balance, which takes nothing back for an hour. (Whole cells live for minutes:
  // tests/orchestrator catches these.)
  kBouncesBack,       // a shard is moved back to a server that it has just left
  kCountsMovesTwice,  // what moves is taken for two replicas, and others move to make up for that
  // Of the task controller.
  kApprovesBeforeItIsStored,  // a cluster manager hears of an approval that is not durable
  kApprovesBeforeTheDrain,    // an operation begins though what is to leave has not left
  kCountsWhatIsLoading,       // replicas that do not serve yet count as there
  kForgetsApprovals,          // a new leader begins without what was approved before
  kForgetsWhatHasBegun,       // a server that is to stop counts as there until it does
  kApprovesFormerLives,       // an operation on a former life of a server goes ahead
  kBeginsWithoutALook,        // what was approved begins, whatever has failed since
  kStopsWhatIsInTrouble,      // a server that counts as away is stopped, whatever it still serves
  // Of splits and merges (tests/simulation/keys/reshapes_test.cc).
  kBeginsBesideTheOldShard,  // a server serves a new shard while requests of the old one run
  kLetsGoTheNewNameAlone,    // a server says that it let a new shard go, and serves the old one
  kReplacesUnderThePrimary,  // shards are replaced while their primaries still acknowledge writes
  // Of state transfer (tests/transfer).
  kServesReleasedCopy,  // what was given away is served again without asking who has it
  kReleasesWhileOpen,   // the custody goes on while the old owner still serves
  kOwnsBeforeTheEnd,    // the new owner does not wait for the last changes, nor compare
  kForgetsItGaveUp,     // a server says that it never will own its copy, and does
};

struct DefectName {
  Defect defect;
  std::string_view name;
};
inline constexpr std::array kDefects = {
    DefectName{Defect::kNoEpochCheck, "no-epoch-check"},
    DefectName{Defect::kNoLeaseMargin, "no-lease-margin"},
    DefectName{Defect::kLeaseFromSendTime, "lease-from-send-time"},
    DefectName{Defect::kNoLease, "no-lease"},
    DefectName{Defect::kLeaseByPlainRead, "lease-by-plain-read"},
    DefectName{Defect::kLeaseWithoutWrites, "lease-without-writes"},
    DefectName{Defect::kNoLeaderFence, "no-leader-fence"},
    DefectName{Defect::kActBeforePersist, "act-before-persist"},
    DefectName{Defect::kNoRegistrationCheck, "no-registration-check"},
    DefectName{Defect::kDropWithoutDraining, "drop-without-draining"},
    DefectName{Defect::kDropNotAwaited, "drop-not-awaited"},
    DefectName{Defect::kEpochsBeginAnew, "epochs-begin-anew"},
    DefectName{Defect::kDeltasWithoutSnapshot, "deltas-without-snapshot"},
    DefectName{Defect::kAcknowledgeBeforeWrite, "acknowledge-before-write"},
    DefectName{Defect::kRetryEverything, "retry-everything"},
    DefectName{Defect::kReopensAfterHandover, "reopens-after-handover"},
    DefectName{Defect::kServesWhilePreparing, "serves-while-preparing"},
    DefectName{Defect::kAnyMembers, "any-members"},
    DefectName{Defect::kElectsAnyone, "elects-anyone"},
    DefectName{Defect::kPromotesEarly, "promotes-early"},
    DefectName{Defect::kSurplusFirst, "surplus-first"},
    DefectName{Defect::kForgetsMembers, "forgets-members"},
    DefectName{Defect::kForgetsFailedMoves, "forgets-failed-moves"},
    DefectName{Defect::kStarvesMembers, "starves-members"},
    DefectName{Defect::kTrustsSickServers, "trusts-sick-servers"},
    DefectName{Defect::kLeavesItWithTheSick, "leaves-it-with-the-sick"},
    DefectName{Defect::kGrantsPrimariesAnew, "grants-primaries-anew"},
    DefectName{Defect::kNeverCallsOff, "never-calls-off"},
    DefectName{Defect::kForgetsTheLost, "forgets-the-lost"},
    DefectName{Defect::kLeadsWithoutALease, "leads-without-a-lease"},
    DefectName{Defect::kClingsToTheOldCell, "clings-to-the-old-cell"},
    DefectName{Defect::kNoRecheck, "no-recheck"},
    DefectName{Defect::kShowsGreen, "shows-green"},
    DefectName{Defect::kMovesWhilePaused, "moves-while-paused"},
    DefectName{Defect::kMovesWhatIsPinned, "moves-what-is-pinned"},
    DefectName{Defect::kForgetsRegions, "forgets-regions"},
    DefectName{Defect::kIgnoresRegions, "ignores-regions"},
    DefectName{Defect::kPreparesForNothing, "prepares-for-nothing"},
    DefectName{Defect::kForgetsWhereTheyStood, "forgets-where-they-stood"},
    DefectName{Defect::kElectsWhoIsBackFirst, "elects-who-is-back-first"},
    DefectName{Defect::kNeverScalesDown, "never-scales-down"},
    DefectName{Defect::kStaysWhereItIsNotAskedFor, "stays-where-it-is-not-asked-for"},
    DefectName{Defect::kStopsAllTheSame, "stops-all-the-same"},
};

// Those that only state transfer has; the simulation of transfers must catch them.
inline constexpr std::array kTransferDefects = {
    DefectName{Defect::kServesReleasedCopy, "serves-released-copy"},
    DefectName{Defect::kReleasesWhileOpen, "releases-while-open"},
    DefectName{Defect::kOwnsBeforeTheEnd, "owns-before-the-end"},
    DefectName{Defect::kForgetsItGaveUp, "forgets-it-gave-up"},
};

// Those of splits and merges.
inline constexpr std::array kReshapeDefects = {
    DefectName{Defect::kBeginsBesideTheOldShard, "begins-beside-the-old-shard"},
    DefectName{Defect::kLetsGoTheNewNameAlone, "lets-go-the-new-name-alone"},
    DefectName{Defect::kReplacesUnderThePrimary, "replaces-under-the-primary"},
};

// Those of the task controller; the world of its tests must catch them (tests/taskcontroller).
inline constexpr std::array kTaskDefects = {
    DefectName{Defect::kApprovesBeforeItIsStored, "approves-before-it-is-stored"},
    DefectName{Defect::kApprovesBeforeTheDrain, "approves-before-the-drain"},
    DefectName{Defect::kCountsWhatIsLoading, "counts-what-is-loading"},
    DefectName{Defect::kForgetsApprovals, "forgets-approvals"},
    DefectName{Defect::kForgetsWhatHasBegun, "forgets-what-has-begun"},
    DefectName{Defect::kApprovesFormerLives, "approves-former-lives"},
    DefectName{Defect::kBeginsWithoutALook, "begins-without-a-look"},
    DefectName{Defect::kStopsWhatIsInTrouble, "stops-what-is-in-trouble"},
};

#ifdef SM_DEFECTS
inline Defect planted_defect = Defect::kNone;
inline bool Planted(Defect defect) { return planted_defect == defect; }
#else
constexpr bool Planted(Defect) { return false; }
#endif

}  // namespace shardmanager
