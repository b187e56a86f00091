#include "base/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardmanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(EndpointTest, TakesAHostAndAPort) {
  for (const char* text : {"127.0.0.1:7400", "sm-1:1", "[::1]:65535"}) {
    EXPECT_EQ(WhatIsWrongWithEndpoint(text), "") << text;
  }
  EXPECT_EQ(WhatIsWrongWithEndpoint("127.0.0.1:0", /*to_listen=*/true), "");
  EXPECT_EQ(WhatIsWrongWithEndpoint(":80", /*to_listen=*/true), "");
}

// 99999 was once taken for 34463, which is what is left of it in 16 bits.
TEST(EndpointTest, RefusesWhatIsNoPort) {
  for (const char* text :
       {"sm-1", "sm-1:", "sm-1:http", "sm-1:99999", "sm-1:65536", "sm-1:0", "sm-1:-1", ":80", ""}) {
    EXPECT_THAT(WhatIsWrongWithEndpoint(text), HasSubstr("allowed: HOST:PORT, with a port from 1"))
        << text;
  }
  EXPECT_THAT(WhatIsWrongWithEndpoint("h:99999", true),
              HasSubstr("found \"h:99999\"; allowed: HOST:PORT, with a port from 0 (any that is"));
}

TEST(EndpointTest, SplitsAtTheLastColon) {
  EXPECT_EQ(SplitEndpoint("[::1]:80").host, "::1");
  EXPECT_EQ(SplitEndpoint("[::1]:80").port, "80");
  EXPECT_EQ(SplitEndpoint(":80").host, "");
  EXPECT_EQ(SplitEndpoint("sm-1").host, "sm-1");
  EXPECT_EQ(SplitEndpoint("sm-1").port, "");
}

TEST(EndpointTest, AListLeavesOutBlanksAndEmptyParts) {
  EXPECT_THAT(EndpointList(" a:1, b:2 ,,"), ElementsAre("a:1", "b:2"));
  EXPECT_THAT(EndpointList(" , "), IsEmpty());
}

}  // namespace
}  // namespace shardmanager
