#include "tests/integration/history.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shardmanager::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

Operation Put(std::string value, Micros invoked, Micros returned) {
  return {.kind = Kind::kPut, .key = "k", .value = value, .invoked = invoked, .returned = returned};
}
Operation Unknown(Operation put) {
  put.outcome = Outcome::kUnknown;
  return put;
}
Operation Refused(Operation put) {
  put.outcome = Outcome::kRefused;
  return put;
}
Operation Get(std::optional<std::string> value, Micros invoked, Micros returned) {
  return {.kind = Kind::kGet, .key = "k", .value = value, .invoked = invoked, .returned = returned};
}
Operation OnKey(std::string key, Operation op) {
  op.key = key;
  return op;
}

TEST(RegisterHistoryTest, AcceptsReadsOfTheLastWrite) {
  EXPECT_EQ(CheckRegisters({Get(std::nullopt, 0, 1), Put("a", 2, 3), Get("a", 4, 5), Put("b", 6, 7),
                            Get("b", 8, 9)}),
            std::nullopt);
}

TEST(RegisterHistoryTest, AcceptsEitherValueWhileAWriteIsUnderWay) {
  EXPECT_EQ(CheckRegisters(
                {Put("a", 0, 1), Put("b", 2, 9), Get("a", 3, 4), Get("b", 5, 6), Get("b", 10, 11)}),
            std::nullopt);
}

TEST(RegisterHistoryTest, RejectsALostAcknowledgedWrite) {
  EXPECT_THAT(CheckRegisters({Put("a", 1, 2), Get(std::nullopt, 3, 4)}),
              Optional(HasSubstr("absent")));
}

TEST(RegisterHistoryTest, RejectsAnAcknowledgedOverwriteThatIsLost) {
  EXPECT_NE(CheckRegisters({Put("a", 1, 2), Put("b", 3, 4), Get("a", 5, 6)}), std::nullopt);
}

TEST(RegisterHistoryTest, RejectsAReadThatGoesBackInTime) {
  EXPECT_NE(CheckRegisters({Put("a", 0, 1), Put("b", 2, 9), Get("b", 3, 4), Get("a", 5, 6)}),
            std::nullopt);
}

TEST(RegisterHistoryTest, RejectsAValueThatNobodyWrote) {
  EXPECT_THAT(CheckRegisters({Put("a", 0, 1), Get("x", 2, 3)}),
              Optional(HasSubstr("nobody wrote")));
}

TEST(RegisterHistoryTest, RejectsAReadBeforeItsWrite) {
  EXPECT_THAT(CheckRegisters({Get("a", 0, 1), Put("a", 2, 3)}),
              Optional(HasSubstr("before it was written")));
}

TEST(RegisterHistoryTest, UnknownPutMayHappenOrNot) {
  EXPECT_EQ(CheckRegisters({Put("a", 0, 1), Unknown(Put("b", 2, 3)), Get("a", 4, 5)}),
            std::nullopt);
  EXPECT_EQ(
      CheckRegisters({Put("a", 0, 1), Unknown(Put("b", 2, 3)), Get("a", 4, 5), Get("b", 6, 7)}),
      std::nullopt);
}

TEST(RegisterHistoryTest, UnknownPutThatWasSeenMayNotVanish) {
  EXPECT_NE(
      CheckRegisters({Put("a", 0, 1), Unknown(Put("b", 2, 3)), Get("b", 4, 5), Get("a", 6, 7)}),
      std::nullopt);
}

TEST(RegisterHistoryTest, RefusedPutMustNotHappen) {
  EXPECT_EQ(CheckRegisters({Refused(Put("a", 0, 1)), Get(std::nullopt, 2, 3)}), std::nullopt);
  EXPECT_NE(CheckRegisters({Refused(Put("a", 0, 1)), Get("a", 2, 3)}), std::nullopt);
}

TEST(RegisterHistoryTest, KeysAreIndependentAndTheWrongOneIsNamed) {
  EXPECT_EQ(CheckRegisters({OnKey("x", Put("a", 0, 1)), OnKey("y", Get(std::nullopt, 2, 3))}),
            std::nullopt);
  EXPECT_THAT(CheckRegisters({OnKey("x", Put("a", 0, 1)), OnKey("y", Get("a", 2, 3))}),
              Optional(HasSubstr("key y")));
}

// The simple second implementation: try every order.
class EveryOrder {
 public:
  explicit EveryOrder(std::vector<Operation> history) : history_(std::move(history)) {}

  bool Explains() { return Extend({}, std::nullopt); }

 private:
  Micros Returned(const Operation& op) const {
    return op.outcome == Outcome::kOk ? op.returned : std::numeric_limits<Micros>::max();
  }

  // May `op` be next, that is: did none of those left return before it began?
  bool MayBeNext(const std::set<size_t>& done, const Operation& op) const {
    for (size_t i = 0; i < history_.size(); ++i) {
      if (!done.contains(i) && Returned(history_[i]) < op.invoked) return false;
    }
    return true;
  }

  bool Extend(std::set<size_t> done, const std::optional<std::string>& value) {
    bool finished = true;
    for (size_t i = 0; i < history_.size(); ++i) {
      const Operation& op = history_[i];
      if (done.contains(i)) continue;
      finished &= op.outcome == Outcome::kUnknown;
      if (!MayBeNext(done, op)) continue;
      if (op.kind == Kind::kGet && op.value != value) continue;
      std::set<size_t> more = done;
      more.insert(i);
      if (Extend(more, op.kind == Kind::kPut ? op.value : value)) return true;
    }
    return finished;  // an unknown put may be left out
  }

  std::vector<Operation> history_;
};

std::vector<Operation> RandomHistory(Random& random) {
  std::vector<Operation> history;
  const size_t puts = 1 + random.Below(3);
  const size_t gets = 1 + random.Below(3);
  for (size_t i = 0; i < puts + gets; ++i) {
    const auto invoked = static_cast<Micros>(random.Below(12));
    const auto returned = invoked + static_cast<Micros>(random.Below(5));
    if (i < puts) {
      Operation put = Put(absl::StrCat("v", i), invoked, returned);
      history.push_back(random.Below(4) == 0 ? Unknown(put) : put);
    } else {
      const uint64_t pick = random.Below(puts + 1);
      history.push_back(
          Get(pick == puts ? std::nullopt : std::optional<std::string>(absl::StrCat("v", pick)),
              invoked, returned));
    }
  }
  return history;
}

TEST(RegisterHistoryTest, AgreesWithTryingEveryOrder) {
  Random random(20260301);
  int accepted = 0;
  constexpr int kRounds = 20'000;
  for (int i = 0; i < kRounds; ++i) {
    const std::vector<Operation> history = RandomHistory(random);
    const Verdict verdict = CheckRegisters(history);
    const bool expected = EveryOrder(history).Explains();
    accepted += expected;
    ASSERT_EQ(!verdict.has_value(), expected) << "round " << i << ": " << verdict.value_or("");
  }
  // The histories are of both kinds.
  EXPECT_GT(accepted, kRounds / 10);
  EXPECT_LT(accepted, kRounds * 9 / 10);
}

Operation Answered(Operation op, std::string server, uint64_t epoch) {
  op.shard = "s";
  op.server = server;
  op.epoch = epoch;
  return op;
}

TEST(TokenHistoryTest, AcceptsATokenThatGrows) {
  EXPECT_EQ(CheckTokens({Answered(Put("a", 0, 1), "p", 1), Answered(Get("a", 2, 3), "p", 1),
                         Answered(Get("a", 4, 5), "q", 2)}),
            std::nullopt);
}

TEST(TokenHistoryTest, RejectsTheFormerOwnerStillServingReads) {
  EXPECT_THAT(CheckTokens({Answered(Get("a", 2, 3), "q", 2), Answered(Get("a", 4, 5), "p", 1)}),
              Optional(AllOf(HasSubstr("p under token 1"), HasSubstr("q under token 2"))));
}

TEST(TokenHistoryTest, AcceptsAnAnswerOfTheFormerOwnerToACallThatBeganBefore) {
  EXPECT_EQ(CheckTokens({Answered(Get("a", 2, 3), "q", 2), Answered(Get("a", 1, 9), "p", 1)}),
            std::nullopt);
}

TEST(TokenHistoryTest, RejectsTwoServersUnderOneToken) {
  EXPECT_THAT(CheckTokens({Answered(Get("a", 0, 9), "p", 1), Answered(Get("a", 0, 9), "q", 1)}),
              Optional(HasSubstr("token 1")));
}

TEST(TokenHistoryTest, ComparesTokensWithinAShardOnly) {
  Operation other = Answered(Get("a", 4, 5), "p", 1);
  other.shard = "t";
  EXPECT_EQ(CheckTokens({Answered(Get("a", 2, 3), "q", 2), other}), std::nullopt);
}

AuditRow Row(uint64_t epoch, std::string server, bool accepted = true) {
  return {.shard = "s", .epoch = epoch, .server = server, .what = "put", .accepted = accepted};
}

TEST(AuditTest, AcceptsTokensThatGrowAndRefusalsOfOldOnes) {
  EXPECT_EQ(CheckAudit({Row(1, "p"), Row(2, "q"), Row(1, "p", /*accepted=*/false), Row(2, "q")}),
            std::nullopt);
}

TEST(AuditTest, RejectsACommitUnderAnOldToken) {
  EXPECT_THAT(CheckAudit({Row(1, "p"), Row(2, "q"), Row(1, "p")}),
              Optional(HasSubstr("p committed a put under token 1 after token 2")));
}

TEST(AuditTest, RejectsTwoServersUnderOneToken) {
  EXPECT_NE(CheckAudit({Row(1, "p"), Row(1, "q")}), std::nullopt);
}

TEST(RefusalsTest, RejectsAPutThatTheDatabaseHadToRefuse) {
  EXPECT_EQ(CheckRefusals({Put("a", 0, 1), Unknown(Put("b", 2, 3))}), std::nullopt);
  EXPECT_THAT(CheckRefusals({Put("a", 0, 1), Refused(Put("b", 2, 3))}),
              Optional(HasSubstr("at [2, 3]")));
}

// Three puts of the key "k": one acknowledged, one unknown, one refused.
std::vector<Operation> ThreePuts() {
  return {Put("a", 0, 1), Unknown(Put("b", 2, 3)), Refused(Put("c", 4, 5))};
}

std::vector<AuditRow> Commits(int count) {
  AuditRow row = Row(1, "p");
  row.key = Put("a", 0, 1).key;
  std::vector<AuditRow> audit(static_cast<size_t>(count), row);
  row.accepted = false;
  audit.push_back(row);
  return audit;
}

TEST(CommitsTest, AcceptsAnAcknowledgedPutWithAndWithoutTheUnknownOne) {
  EXPECT_EQ(CheckCommits(ThreePuts(), Commits(1)), std::nullopt);
  EXPECT_EQ(CheckCommits(ThreePuts(), Commits(2)), std::nullopt);
}

TEST(CommitsTest, RejectsAnAcknowledgedPutThatWasNotCommitted) {
  EXPECT_THAT(CheckCommits(ThreePuts(), Commits(0)), Optional(HasSubstr("and 0 were committed")));
}

TEST(CommitsTest, RejectsAPutThatWasCommittedTwice) {
  EXPECT_THAT(CheckCommits(ThreePuts(), Commits(3)), Optional(HasSubstr("and 3 were committed")));
}

}  // namespace
}  // namespace shardmanager::testing
