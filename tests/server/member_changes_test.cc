// ShardBook: primaries that are told of members while others wait for members that do not answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/server/shard_book_fixture.h"

namespace shardmanager::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// So many changes of members run at a time.
const std::vector<std::string> kFirst = {"a", "b", "c", "d"};
constexpr uint64_t kEpoch = 5;

class MemberChangesTest : public ShardBookTest {
 protected:
  MemberChangesTest() {
    for (const char* shard : {"a", "b", "c", "d", "s", "t"}) Serve(shard, kEpoch);
    Did();
  }
  // Of this server, kv-1, and others.
  ReplyId Set(const std::string& shard, uint64_t version, const std::vector<std::string>& others) {
    Grant grant = GrantOf(shard, kEpoch);
    grant.members = Members{{ServerName("kv-1"), "host:1"}};
    for (const std::string& other : others) {
      grant.members->push_back({ServerName(other), "host:2"});
    }
    grant.members_version = version;
    return Send(CommandKind::kSetMembers, {grant});
  }
  void End(const std::string& shard, absl::Status status = absl::OkStatus()) {
    EndCall(CommandKind::kSetMembers, shard, kEpoch, std::move(status));
  }
  // It goes by these members.
  void Agree(const std::string& shard, uint64_t version, const std::vector<std::string>& others) {
    Set(shard, version, others);
    End(shard);
    Did();
  }
  // Four primaries wait for kv-8.
  void WaitForOne() {
    for (const std::string& shard : kFirst) Set(shard, 9, {"kv-8"});
    EXPECT_EQ(Did().size(), kFirst.size());
  }
  ReplyId Demote(const std::string& shard) {
    return Send({CommandKind::kChangeRole,
                 0,
                 "kv",
                 "kv-1",
                 kLife,
                 kLeader,
                 {GrantOf(shard, kEpoch + 1, Role::kSecondary)},
                 "",
                 {{"kv-2", "host:1", ShardEpoch(kEpoch + 1)}}});
  }
};

TEST_F(MemberChangesTest, AFewRunAtATimeAndTheOthersInTheOrderInWhichTheyCame) {
  WaitForOne();
  const ReplyId waits = Set("s", 9, {"kv-8"});
  Set("t", 9, {"kv-8"});
  EXPECT_THAT(Did(), IsEmpty());
  EXPECT_THAT(results(waits), IsEmpty());
  End("b", absl::UnavailableError("kv-8 does not answer"));
  EXPECT_THAT(Did(), ElementsAre("set-members s@5"));
  End("a");
  EXPECT_THAT(Did(), ElementsAre("set-members t@5"));
  End("s");
  EXPECT_THAT(results(waits), ElementsAre("s@5 done", "end"));
}

TEST_F(MemberChangesTest, WhatWaitsHoldsUpNoDemotionAndNeverRuns) {
  WaitForOne();
  const ReplyId waits = Set("s", 9, {"kv-8"});
  Demote("s");
  EXPECT_THAT(results(waits), ElementsAre("s@5 stale", "end"));
  EXPECT_THAT(Did(), ElementsAre("pause s"));
  AdvanceBy(Seconds(2));  // called off: requests took too long
  EXPECT_THAT(Did(), ElementsAre("open s@5"));
  End("a");
  EXPECT_THAT(Did(), IsEmpty());
  Set("s", 10, {"kv-8"});
  EXPECT_THAT(Did(), ElementsAre("set-members s@5"));
}

TEST_F(MemberChangesTest, WhatWaitsWhenTheServerStopsNeverRuns) {
  WaitForOne();
  const ReplyId waits = Set("s", 9, {"kv-8"});
  Feed(Stop{});
  EXPECT_THAT(results(waits), ElementsAre("s@5 stale", "end"));
  Did();
  for (const std::string& shard : kFirst) End(shard);
  EXPECT_THAT(Did(), IsEmpty());
}

TEST_F(MemberChangesTest, AListThatBringsNobodyNewDoesNotWaitForThoseThatDo) {
  Agree("s", 1, {"kv-2", "kv-3"});
  Agree("t", 1, {"kv-2"});
  WaitForOne();
  Set("t", 2, {"kv-2", "kv-8"});
  EXPECT_THAT(Did(), IsEmpty());
  Set("s", 2, {"kv-2"});
  EXPECT_THAT(Did(), ElementsAre("set-members s@5"));
  Set("t", 3, {});  // in the place of the one that waits
  EXPECT_THAT(Did(), ElementsAre("set-members t@5"));
}

// What an application is asked to go by, and refuses, it may not know.
TEST_F(MemberChangesTest, WhomTheApplicationDidNotTakeIsNewTheNextTime) {
  Set("s", 1, {"kv-8"});
  End("s", absl::UnavailableError("kv-8 does not answer"));
  Agree("t", 1, {"kv-8"});
  WaitForOne();
  Set("s", 2, {"kv-8"});
  EXPECT_THAT(Did(), IsEmpty());
  Set("t", 2, {"kv-8"});
  EXPECT_THAT(Did(), ElementsAre("set-members t@5"));
}

TEST_F(MemberChangesTest, MembersOfAnEarlierGrantAreNew) {
  Agree("s", 1, {"kv-2"});
  Send(CommandKind::kAdd, {GrantOf("s", kEpoch + 1)});
  Drain("s");
  Load("s", kEpoch + 1);
  Did();
  WaitForOne();
  Grant grant = GrantOf("s", kEpoch + 1);
  grant.members = Members{{ServerName("kv-1"), "host:1"}, {ServerName("kv-2"), "host:2"}};
  grant.members_version = 2;
  Send(CommandKind::kSetMembers, {grant});
  EXPECT_THAT(Did(), IsEmpty());
}

TEST_F(MemberChangesTest, ALaterListTakesThePlaceOfTheOneThatWaits) {
  WaitForOne();
  const ReplyId former = Set("s", 9, {"kv-8"});
  Set("t", 9, {"kv-8"});
  const ReplyId later = Set("s", 10, {"kv-3"});
  EXPECT_THAT(results(former), ElementsAre("s@5 stale", "end"));
  End("a");
  EXPECT_THAT(Did(), ElementsAre("set-members s@5"));
  End("s");
  EXPECT_THAT(results(later), ElementsAre("s@5 done", "end"));
  EXPECT_THAT(Did(), ElementsAre("set-members t@5"));
}

TEST_F(MemberChangesTest, ALaterListWaitsForTheEndOfTheOneThatIsAtWork) {
  const ReplyId first = Set("s", 1, {"kv-2"});
  Did();
  const ReplyId second = Set("s", 2, {"kv-3"});
  EXPECT_THAT(Did(), IsEmpty());
  End("s");
  EXPECT_THAT(results(first), ElementsAre("s@5 done", "end"));
  EXPECT_THAT(results(second), IsEmpty());
  EXPECT_THAT(Did(), ElementsAre("set-members s@5"));
  End("s", absl::UnavailableError("kv-3 does not answer"));
  EXPECT_THAT(results(second), ElementsAre("s@5 failed", "end"));
}

// Calls for one shard never overlap.
TEST_F(MemberChangesTest, AHandoverWaitsForTheOneThatIsAtWork) {
  Set("s", 1, {"kv-2"});
  Did();
  PrepareDrop("s", kEpoch, kEpoch + 1);
  EXPECT_THAT(Did(), IsEmpty());
  End("s");
  EXPECT_THAT(Did(), ElementsAre("prepare-drop s"));
}

}  // namespace
}  // namespace shardmanager::server
