#include "runtime/operation_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace shardmanager {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(OperationIdTest, ANewOneIsAllowedAndNoOther) {
  const std::string id = MakeOperationId();
  EXPECT_THAT(id, MatchesRegex("op-[0-9a-f]{8}"));
  EXPECT_TRUE(CheckOperationId(id).ok());
  EXPECT_NE(id, MakeOperationId());
}

TEST(OperationIdTest, WhatCouldBeTakenForMoreOfALogLineIsRefused) {
  EXPECT_TRUE(CheckOperationId("rollout-42/kv-3").ok());
  EXPECT_TRUE(CheckOperationId(std::string(64, 'x')).ok());
  for (const std::string& bad : {std::string(), std::string(65, 'x'), std::string("a b"),
                                 std::string("a\nb"), std::string("a\"b"), std::string("\xff")}) {
    EXPECT_THAT(CheckOperationId(bad).message(), HasSubstr("allowed: 1 to 64 letters")) << bad;
  }
  EXPECT_THAT(CheckOperationId("a\nb").message(), HasSubstr("found \"a\\nb\""));
  EXPECT_LT(CheckOperationId(std::string(100'000, 'x')).message().size(), 300u);
}

}  // namespace
}  // namespace shardmanager
