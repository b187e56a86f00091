#include "discovery/publisher_outlook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardmanager::discovery {
namespace {

PublisherOutlook Outlook() { return PublisherOutlook({"a:1", "b:2"}, "prod"); }

TEST(PublisherOutlookTest, AsksUntilAPublisherIsSure) {
  PublisherOutlook outlook = Outlook();
  EXPECT_EQ(outlook.freshness(), Freshness::kAsking);
  outlook.OnStreamOpened(0);
  outlook.OnDelivered(/*is_newest=*/false);
  EXPECT_EQ(outlook.freshness(), Freshness::kAsking);
  outlook.OnDelivered(/*is_newest=*/true);
  EXPECT_EQ(outlook.freshness(), Freshness::kNewest);
  outlook.OnDelivered(/*is_newest=*/false);
  EXPECT_EQ(outlook.freshness(), Freshness::kAsking) << "a newer map is on its way";
}

TEST(PublisherOutlookTest, NobodyIsSureOnceEachEndpointWasTriedInVain) {
  PublisherOutlook outlook = Outlook();
  for (size_t endpoint : {0u, 1u}) {
    EXPECT_EQ(outlook.freshness(), Freshness::kAsking);
    outlook.OnStreamOpened(endpoint);
    EXPECT_TRUE(absl::IsUnavailable(outlook.OnStreamEnded("nothing heard for 5000 ms")));
  }
  EXPECT_EQ(outlook.freshness(), Freshness::kNobodySure);
  outlook.OnStreamOpened(0);
  EXPECT_EQ(outlook.freshness(), Freshness::kNobodySure) << "nobody has said anything yet";
  outlook.OnDelivered(/*is_newest=*/true);
  EXPECT_EQ(outlook.freshness(), Freshness::kNewest);
  (void)outlook.OnStreamEnded("the stream ended");
  EXPECT_EQ(outlook.freshness(), Freshness::kAsking) << "the other endpoint may be sure";
}

TEST(PublisherOutlookTest, AnUnsurePublisherCountsOnceInAStream) {
  PublisherOutlook outlook = Outlook();
  outlook.OnStreamOpened(0);
  for (int i = 0; i < 5; ++i) outlook.OnUnsure();
  (void)outlook.OnStreamEnded("the stream ended");
  EXPECT_EQ(outlook.freshness(), Freshness::kAsking);
  outlook.OnStreamOpened(1);
  outlook.OnUnsure();
  EXPECT_EQ(outlook.freshness(), Freshness::kNobodySure);
}

TEST(PublisherOutlookTest, APublisherThatWasSureAndIsNotAnyMoreCountsAgain) {
  PublisherOutlook outlook({"a:1"}, "");
  outlook.OnStreamOpened(0);
  outlook.OnUnsure();
  outlook.OnDelivered(/*is_newest=*/true);
  EXPECT_EQ(outlook.freshness(), Freshness::kNewest);
  outlook.OnUnsure();
  outlook.OnDelivered(/*is_newest=*/false);
  EXPECT_EQ(outlook.freshness(), Freshness::kNobodySure);
}

TEST(PublisherOutlookTest, TellsEachChangeOnce) {
  PublisherOutlook outlook({"a:1"}, "");
  EXPECT_EQ(outlook.TakeChange(), std::nullopt);
  outlook.OnStreamOpened(0);
  outlook.OnDelivered(/*is_newest=*/true);
  EXPECT_EQ(outlook.TakeChange(), Freshness::kNewest);
  outlook.OnDelivered(/*is_newest=*/true);
  EXPECT_EQ(outlook.TakeChange(), std::nullopt);
  (void)outlook.OnStreamEnded("the stream ended");
  EXPECT_EQ(outlook.TakeChange(), Freshness::kNobodySure);
}

TEST(PublisherOutlookTest, RefusesMessagesOfAnotherCell) {
  PublisherOutlook outlook = Outlook();
  outlook.OnStreamOpened(0);
  EXPECT_TRUE(outlook.OnCell("")) << "the publisher does not say";
  EXPECT_TRUE(outlook.OnCell("prod@17"));
  EXPECT_FALSE(outlook.OnCell("test@3"));
  PublisherOutlook any({"a:1"}, "");
  any.OnStreamOpened(0);
  EXPECT_TRUE(any.OnCell("test@3"));
}

TEST(PublisherOutlookTest, NamesTheEndpointAndTheReasonOfALostStream) {
  PublisherOutlook outlook = Outlook();
  outlook.OnStreamOpened(1);
  EXPECT_EQ(outlook.OnStreamEnded("the stream ended"),
            absl::UnavailableError("b:2: the stream ended"));
}

TEST(PublisherOutlookTest, NamesTheOtherCells) {
  PublisherOutlook outlook = Outlook();
  outlook.OnStreamOpened(0);
  EXPECT_FALSE(outlook.OnCell("test@3"));
  EXPECT_EQ(outlook.OnStreamEnded("cancelled"),
            absl::UnavailableError("a:1 has maps of cell test@3, not of prod"));
  outlook.OnStreamOpened(1);
  EXPECT_EQ(outlook.OnStreamEnded("refused"),
            absl::UnavailableError("b:2: refused; a:1 has maps of cell test@3, not of prod"));
  outlook.OnStreamOpened(1);
  EXPECT_FALSE(outlook.OnCell("stage@1"));
  EXPECT_EQ(outlook.OnStreamEnded("cancelled"),
            absl::FailedPreconditionError("a:1 has maps of cell test@3, not of prod; b:2 has maps "
                                          "of cell stage@1, not of prod"));
  outlook.OnStreamOpened(0);
  EXPECT_TRUE(outlook.OnCell("prod@17"));
  EXPECT_EQ(outlook.OnStreamEnded("the stream ended").code(), absl::StatusCode::kUnavailable)
      << "this endpoint is of our cell now";
}

}  // namespace
}  // namespace shardmanager::discovery
