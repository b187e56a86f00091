// Who a change is said to be of.
#include "wire/access/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::wire {
namespace {

TEST(PutWhoTest, WhatCallersSayOfThemselvesIsReplaced) {
  v1::PinShardRequest pin;
  pin.mutable_pin()->set_who("jo");
  PutWho("operator/alice", pin);
  EXPECT_EQ(pin.pin().who(), "operator/alice");
  v1::PauseAppRequest pause;
  PutWho("operator/alice", pause);
  EXPECT_EQ(pause.pause().who(), "operator/alice");
  v1::AddMaintenanceRequest maintenance;
  PutWho("operator/alice", maintenance);
  EXPECT_EQ(maintenance.maintenance().who(), "operator/alice");
  v1::UnpinShardRequest unpin;
  unpin.set_who("jo");
  PutWho("operator/alice", unpin);
  EXPECT_EQ(unpin.who(), "operator/alice");
}

TEST(PutWhoTest, LeavesRequestsThatDoNotSayWhoAsTheyAre) {
  v1::UndrainRequest undrain;
  undrain.mutable_scope()->set_server("kv-1");
  const std::string before = undrain.SerializeAsString();
  PutWho("operator/alice", undrain);
  EXPECT_EQ(undrain.SerializeAsString(), before);
}

TEST(PutWhoTest, ALongPathIsShortenedToWhatRecordsTake) {
  v1::UnpinShardRequest unpin;
  PutWho(std::string(500, 'a'), unpin);
  EXPECT_EQ(unpin.who().size(), 200u);
}

TEST(AppOfTest, NamesTheAppOfTheRequest) {
  v1::ApplyAppRequest apply;
  apply.mutable_spec()->set_name("kv");
  EXPECT_EQ(AppOf(apply), "kv");
  v1::DrainRequest drain;
  drain.set_app("search");
  EXPECT_EQ(AppOf(drain), "search");
  EXPECT_EQ(AppOf(v1::CancelMaintenanceRequest()), "");
}

}  // namespace
}  // namespace shardmanager::wire
