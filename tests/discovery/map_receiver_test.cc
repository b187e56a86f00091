#include "discovery/map_receiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/discovery/test_maps.h"

namespace shardmanager::discovery {
namespace {

constexpr MapVersion V(uint64_t sequence, uint64_t epoch = 1) { return {epoch, sequence}; }

v1::WatchResponse Of(v1::MapSnapshot part) {
  v1::WatchResponse response;
  *response.mutable_snapshot() = std::move(part);
  return response;
}
v1::WatchResponse Of(v1::MapDelta delta) {
  v1::WatchResponse response;
  *response.mutable_delta() = std::move(delta);
  return response;
}
v1::WatchResponse HeartbeatOf(MapVersion version) {
  v1::WatchResponse response;
  *response.mutable_heartbeat()->mutable_version() = version.ToProto();
  return response;
}
bool IsNothing(const Received& received) { return std::holds_alternative<Nothing>(received); }
bool IsBroken(const Received& received) { return std::holds_alternative<Broken>(received); }
bool IsDelta(const Received& received) { return std::holds_alternative<v1::MapDelta>(received); }
bool IsSnapshot(const Received& received) { return std::holds_alternative<WholeMap>(received); }

TEST(MapReceiverTest, PutsPartsTogether) {
  MapReceiver receiver;
  v1::MapSnapshot first = MakeSnapshot(V(1), {{0}, {1}, {2}});
  v1::MapSnapshot second = first;
  first.mutable_shards()->DeleteSubrange(2, 1);
  first.set_last(false);
  second.clear_servers();
  second.mutable_shards()->DeleteSubrange(0, 2);
  EXPECT_TRUE(IsNothing(receiver.Receive(Of(first))));
  EXPECT_EQ(receiver.known(), std::nullopt);
  Received received = receiver.Receive(Of(second));
  ASSERT_TRUE(IsSnapshot(received));
  EXPECT_EQ(std::get<WholeMap>(received).ToSnapshot().SerializeAsString(),
            MakeSnapshot(V(1), {{0}, {1}, {2}}).SerializeAsString());
  EXPECT_EQ(receiver.known(), V(1));
}

TEST(MapReceiverTest, IsStaleFromAHeartbeatThatSaysSoToTheNextMessage) {
  MapReceiver receiver;
  v1::WatchResponse stale = HeartbeatOf(V(1));
  stale.mutable_heartbeat()->set_stale(true);
  EXPECT_TRUE(IsNothing(receiver.Receive(stale)));
  EXPECT_TRUE(receiver.stale());
  receiver.Receive(HeartbeatOf(V(1)));
  EXPECT_FALSE(receiver.stale());
  receiver.Receive(stale);
  EXPECT_TRUE(IsSnapshot(receiver.Receive(Of(MakeSnapshot(V(1), {{0}})))));
  EXPECT_FALSE(receiver.stale());
  receiver.Receive(stale);
  receiver.StreamOpened();
  EXPECT_FALSE(receiver.stale());
}

TEST(MapReceiverTest, WhatIsHeldIsTheNewestOnlyWhenThePublisherIsSureOfIt) {
  MapReceiver receiver(V(5));
  receiver.StreamOpened();
  EXPECT_FALSE(receiver.is_newest()) << "nothing was said on this stream";
  receiver.Receive(HeartbeatOf(V(5)));
  EXPECT_TRUE(receiver.is_newest());
  v1::WatchResponse stale = HeartbeatOf(V(5));
  stale.mutable_heartbeat()->set_stale(true);
  receiver.Receive(stale);
  EXPECT_FALSE(receiver.is_newest());
  receiver.Receive(HeartbeatOf(V(6)));
  EXPECT_FALSE(receiver.is_newest()) << "a newer one is on its way";
  EXPECT_TRUE(IsDelta(receiver.Receive(Of(MakeDelta(V(5), V(6), 0, {1})))));
  EXPECT_TRUE(receiver.is_newest());
  receiver.Receive(HeartbeatOf(V(4)));
  EXPECT_FALSE(receiver.is_newest()) << "that publisher is behind";
  v1::WatchResponse has_none;
  has_none.mutable_heartbeat();
  receiver.Receive(has_none);
  EXPECT_FALSE(receiver.is_newest()) << "nor has it a map";

  receiver.StreamOpened();
  v1::WatchResponse old = Of(MakeSnapshot(V(6), {{0}}));
  old.set_more(true);
  receiver.Receive(old);
  EXPECT_FALSE(receiver.is_newest()) << "it says that more follows";
  v1::MapSnapshot part = MakeSnapshot(V(7), {{0}});
  part.set_last(false);
  receiver.Receive(Of(part));
  EXPECT_FALSE(receiver.is_newest()) << "it is not whole";
  part.clear_shards();
  part.clear_servers();
  part.set_last(true);
  EXPECT_TRUE(IsSnapshot(receiver.Receive(Of(part))));
  EXPECT_TRUE(receiver.is_newest());
  receiver.Distrust(V(7));
  EXPECT_FALSE(receiver.is_newest());
}

TEST(MapReceiverTest, SaysThatThereIsNoSuchAppUntilTheNextMessage) {
  MapReceiver receiver;
  v1::WatchResponse none;
  none.mutable_heartbeat()->set_no_such_app(true);
  none.mutable_heartbeat()->set_cell("prod@7");
  receiver.Receive(none);
  EXPECT_EQ(receiver.no_such_app_in(), "prod@7");
  receiver.Receive(HeartbeatOf(V(1)));
  EXPECT_EQ(receiver.no_such_app_in(), "");
  receiver.Receive(none);
  receiver.StreamOpened();
  EXPECT_EQ(receiver.no_such_app_in(), "");
}

TEST(MapReceiverTest, PartsOfALostStreamAreVoid) {
  MapReceiver receiver;
  v1::MapSnapshot part = MakeSnapshot(V(1), {{0}});
  part.set_last(false);
  receiver.Receive(Of(part));
  receiver.StreamOpened();
  Received received = receiver.Receive(Of(MakeSnapshot(V(2), {{1}})));
  ASSERT_TRUE(IsSnapshot(received));
  EXPECT_EQ(std::get<WholeMap>(received).ToSnapshot().shards_size(), 1);
}

// F11: a stale heartbeat reply overwrote newer state.
TEST(MapReceiverTest, F11NothingOlderComesOut) {
  MapReceiver receiver;
  receiver.Receive(Of(MakeSnapshot(V(5, 2), {{0}})));
  EXPECT_TRUE(IsNothing(receiver.Receive(HeartbeatOf(V(4, 2)))));
  EXPECT_TRUE(IsNothing(receiver.Receive(Of(MakeSnapshot(V(4, 2), {{1}})))));
  EXPECT_TRUE(IsNothing(receiver.Receive(Of(MakeSnapshot(V(9, 1), {{1}})))));
  EXPECT_TRUE(IsNothing(receiver.Receive(Of(MakeDelta(V(3, 2), V(4, 2), 0, {1})))));
  EXPECT_EQ(receiver.known(), V(5, 2));
}

// F12: a new subscriber got deltas but no initial state.
TEST(MapReceiverTest, F12DeltaBeforeAnyStateIsNotLetThrough) {
  MapReceiver receiver;
  EXPECT_TRUE(IsBroken(receiver.Receive(Of(MakeDelta(V(1), V(2), 0, {1})))));
  EXPECT_EQ(receiver.known(), std::nullopt);
}

TEST(MapReceiverTest, AfterAGapItAsksForASnapshotAndKeepsWhatItHolds) {
  MapReceiver receiver;
  receiver.Receive(Of(MakeSnapshot(V(1), {{0}})));
  EXPECT_TRUE(IsBroken(receiver.Receive(Of(MakeDelta(V(2), V(3), 0, {1})))));
  EXPECT_EQ(receiver.known(), std::nullopt);
  EXPECT_EQ(receiver.held(), V(1));
  receiver.StreamOpened();
  EXPECT_TRUE(IsSnapshot(receiver.Receive(Of(MakeSnapshot(V(3), {{1}})))));
  EXPECT_EQ(receiver.known(), V(3));
}

TEST(MapReceiverTest, DeltaInTheMiddleOfASnapshotBreaksTheStream) {
  MapReceiver receiver(V(1));
  v1::MapSnapshot part = MakeSnapshot(V(5), {{0}});
  part.set_last(false);
  receiver.Receive(Of(part));
  EXPECT_TRUE(IsBroken(receiver.Receive(Of(MakeDelta(V(1), V(2), 0, {1})))));
}

TEST(MapReceiverTest, PartsOfTwoSnapshotsAreNotMixed) {
  MapReceiver receiver;
  v1::MapSnapshot part = MakeSnapshot(V(5), {{0}});
  part.set_last(false);
  receiver.Receive(Of(part));
  EXPECT_TRUE(IsBroken(receiver.Receive(Of(MakeSnapshot(V(6), {{0}})))));
}

TEST(MapReceiverTest, ResumesFromTheVersionItWasGiven) {
  MapReceiver receiver(V(4));
  EXPECT_EQ(receiver.known(), V(4));
  EXPECT_TRUE(IsDelta(receiver.Receive(Of(MakeDelta(V(4), V(5), 0, {1})))));
  EXPECT_EQ(receiver.known(), V(5));
}

// A publisher that lags sends an old snapshot and then one delta that passes us.
TEST(MapReceiverTest, ADeltaFromAnOldSnapshotIsNotLost) {
  MapReceiver receiver;
  receiver.Receive(Of(MakeSnapshot(V(8), {{0}, {1}})));
  receiver.StreamOpened();
  EXPECT_TRUE(IsNothing(receiver.Receive(Of(MakeSnapshot(V(5), {{0}, {2}})))));
  EXPECT_TRUE(IsNothing(receiver.Receive(Of(MakeDelta(V(5), V(7), 0, {3})))));
  Received received = receiver.Receive(Of(MakeDelta(V(7), V(9), 0, {4})));
  ASSERT_TRUE(IsSnapshot(received));
  PlainMap map;
  map.Apply(std::get<WholeMap>(received).ToSnapshot());
  EXPECT_EQ(map.version(), V(9));
  EXPECT_THAT(map.Shards()[0], testing::HasSubstr("kv-4"));
  EXPECT_THAT(map.Shards()[1], testing::HasSubstr("kv-2"));
  EXPECT_EQ(receiver.known(), V(9));
  EXPECT_TRUE(IsDelta(receiver.Receive(Of(MakeDelta(V(9), V(10), 0, {1})))));
}

TEST(MapReceiverTest, APublisherThatCatchesUpExactlyGoesOnWithDeltas) {
  MapReceiver receiver;
  receiver.Receive(Of(MakeSnapshot(V(8), {{0}})));
  receiver.StreamOpened();
  EXPECT_TRUE(IsNothing(receiver.Receive(Of(MakeSnapshot(V(5), {{2}})))));
  EXPECT_TRUE(IsNothing(receiver.Receive(Of(MakeDelta(V(5), V(8), 0, {0})))));
  EXPECT_TRUE(IsDelta(receiver.Receive(Of(MakeDelta(V(8), V(9), 0, {1})))));
}

v1::WatchResponse WithMore(v1::WatchResponse response) {
  response.set_more(true);
  return response;
}

// Finding 15 of the attack: new subscribers used a snapshot whose successor was on its way.
TEST(MapReceiverTest, AnOldSnapshotComesOutTogetherWithTheDeltaThatFollows) {
  MapReceiver receiver;
  EXPECT_TRUE(IsNothing(receiver.Receive(WithMore(Of(MakeSnapshot(V(1), {{0}, {1}}))))));
  EXPECT_EQ(receiver.known(), std::nullopt);
  Received received = receiver.Receive(Of(MakeDelta(V(1), V(9), 1, {4})));
  ASSERT_TRUE(IsSnapshot(received));
  PlainMap map;
  map.Apply(std::get<WholeMap>(received).ToSnapshot());
  EXPECT_EQ(map.version(), V(9));
  EXPECT_THAT(map.Shards()[1], testing::HasSubstr("kv-4"));
  EXPECT_EQ(receiver.known(), V(9));
  EXPECT_TRUE(IsDelta(receiver.Receive(Of(MakeDelta(V(9), V(10), 0, {1})))));
}

TEST(MapReceiverTest, WhoHoldsAnOlderMapKeepsItUntilTheDelta) {
  MapReceiver receiver(V(1));
  receiver.Distrust(V(1));
  EXPECT_TRUE(IsNothing(receiver.Receive(WithMore(Of(MakeSnapshot(V(2), {{0}}))))));
  EXPECT_EQ(receiver.held(), V(1));
  EXPECT_TRUE(IsSnapshot(receiver.Receive(Of(MakeDelta(V(2), V(3), 0, {1})))));
}

// It comes while a large delta waits for its turn.
TEST(MapReceiverTest, AHeartbeatOfANewerVersionDoesNotEndTheWaitForMore) {
  MapReceiver receiver;
  receiver.Receive(WithMore(Of(MakeSnapshot(V(1), {{0}, {1}}))));
  EXPECT_TRUE(IsNothing(receiver.Receive(HeartbeatOf(V(9)))));
  EXPECT_EQ(receiver.held(), std::nullopt);
  EXPECT_TRUE(IsNothing(receiver.Receive(HeartbeatOf(V(1, 2)))));
  const Received received = receiver.Receive(Of(MakeDelta(V(1), V(9), 1, {4})));
  ASSERT_TRUE(IsSnapshot(received)) << "both together";
  EXPECT_EQ(receiver.held(), V(9));
}

TEST(MapReceiverTest, AHeartbeatThatNamesNothingNewerEndsTheWaitForMore) {
  MapReceiver receiver;
  receiver.Receive(WithMore(Of(MakeSnapshot(V(1), {{0}}))));
  EXPECT_TRUE(IsSnapshot(receiver.Receive(HeartbeatOf(V(1)))));
  EXPECT_EQ(receiver.known(), V(1));
  EXPECT_TRUE(IsNothing(receiver.Receive(HeartbeatOf(V(1)))));
}

TEST(MapReceiverTest, ALostStreamEndsTheWaitForMore) {
  MapReceiver receiver;
  receiver.Receive(WithMore(Of(MakeSnapshot(V(1), {{0}}))));
  receiver.StreamOpened();
  EXPECT_EQ(receiver.known(), std::nullopt);
  EXPECT_TRUE(IsBroken(receiver.Receive(Of(MakeDelta(V(1), V(2), 0, {1})))));
}

TEST(MapReceiverTest, DistrustBringsTheSameVersionAgain) {
  MapReceiver receiver;
  receiver.Receive(Of(MakeSnapshot(V(5), {{0}})));
  receiver.Distrust(std::nullopt);
  EXPECT_EQ(receiver.known(), std::nullopt);
  EXPECT_TRUE(IsSnapshot(receiver.Receive(Of(MakeSnapshot(V(5), {{0}})))));
}

// Who holds version 7 of elsewhere cannot use a delta from 5, nor a snapshot of 5: only
// the two together, as a snapshot of 8. (Found by the simulator: a relay that had led
// asked for ever.)
TEST(MapReceiverTest, AfterDistrustAnOldSnapshotComesOutOnceADeltaHasPassedWhatIsHeld) {
  MapReceiver receiver;
  receiver.Receive(Of(MakeSnapshot(V(5), {{0}})));
  EXPECT_TRUE(IsDelta(receiver.Receive(Of(MakeDelta(V(5), V(8), 0, {1})))));
  receiver.Distrust(V(7));
  receiver.StreamOpened();
  EXPECT_EQ(receiver.known(), std::nullopt);
  EXPECT_TRUE(IsNothing(receiver.Receive(Of(MakeSnapshot(V(5), {{0}})))));
  const Received received = receiver.Receive(Of(MakeDelta(V(5), V(8), 0, {1})));
  ASSERT_TRUE(IsSnapshot(received));
  EXPECT_EQ(MapVersion::From(std::get<WholeMap>(received).ToSnapshot().version()), V(8));
}

// The map that it has under that version is another one, so no delta from it fits.
TEST(MapReceiverTest, AfterDistrustASnapshotOfTheVersionThatIsHeldIsTakenWithTheDelta) {
  MapReceiver receiver;
  receiver.Receive(Of(MakeSnapshot(V(5), {{0}}, /*servers=*/1)));
  receiver.Distrust(V(5));
  receiver.StreamOpened();
  EXPECT_TRUE(IsNothing(receiver.Receive(WithMore(Of(MakeSnapshot(V(5), {{0}}, /*servers=*/2))))));
  const Received received = receiver.Receive(Of(MakeDelta(V(5), V(6), 0, {1})));
  ASSERT_TRUE(IsSnapshot(received));
  EXPECT_EQ(std::get<WholeMap>(received).ToSnapshot().servers_size(), 2);
}

TEST(MapReceiverTest, AServerThatIsGoneIsTakenFromAnOldSnapshot) {
  MapReceiver receiver;
  receiver.Receive(WithMore(Of(MakeSnapshot(V(5), {{0}}, /*servers=*/2))));
  v1::MapDelta delta = MakeDelta(V(5), V(6), 0, {0});
  delta.add_servers()->set_index(1);
  const Received received = receiver.Receive(Of(delta));
  ASSERT_TRUE(IsSnapshot(received));
  EXPECT_EQ(std::get<WholeMap>(received).ToSnapshot().servers_size(), 1);
}

TEST(MapReceiverTest, KindsOfNewerBuildsMeanNothing) {
  MapReceiver receiver(V(1));
  EXPECT_TRUE(IsNothing(receiver.Receive(v1::WatchResponse())));
  EXPECT_EQ(receiver.known(), V(1));
}

}  // namespace
}  // namespace shardmanager::discovery
