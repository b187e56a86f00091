#include "router/published.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace shardmanager::router {
namespace {

TEST(PublishedTest, ReadersSeeTheNewestValue) {
  Published<int> published;
  EXPECT_EQ(published.Get(), nullptr);
  for (int i = 0; i < 3; ++i) {
    published.Set(std::make_shared<int>(i));
    EXPECT_EQ(*published.Get(), i);
    EXPECT_EQ(*published.Get(), i);
  }
}

TEST(PublishedTest, ManyValuesInOneThreadAreNotMixedUp) {
  std::vector<std::unique_ptr<Published<int>>> values;
  for (int i = 0; i < 100; ++i) {
    values.push_back(std::make_unique<Published<int>>());
    values.back()->Set(std::make_shared<int>(i));
  }
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(*values[static_cast<size_t>(i)]->Get(), i);
  }
}

TEST(PublishedTest, AnotherValueAtTheSamePlaceIsNotTakenForTheLast) {
  for (int i = 0; i < 50; ++i) {
    Published<int> published;
    EXPECT_EQ(published.Get(), nullptr);
    published.Set(std::make_shared<int>(i));
    EXPECT_EQ(*published.Get(), i);
  }
}

TEST(PublishedTest, AnOldValueGoesWhenItsReadersReadAgain) {
  Published<int> published;
  auto first = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = first;
  published.Set(std::move(first));
  published.Get();
  published.Set(std::make_shared<int>(2));
  EXPECT_FALSE(watched.expired());
  published.Get();
  EXPECT_TRUE(watched.expired());
}

TEST(PublishedTest, ReadersNeverSeeAValueGoBack) {
  Published<int> published;
  published.Set(std::make_shared<int>(0));
  std::atomic<bool> stop{false};
  std::atomic<int> backward{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      int last = 0;
      while (!stop) {
        const int now = *published.Get();
        if (now < last) ++backward;
        last = now;
      }
    });
  }
  for (int i = 1; i <= 20'000; ++i) published.Set(std::make_shared<int>(i));
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(backward, 0);
  EXPECT_EQ(*published.Get(), 20'000);
}

}  // namespace
}  // namespace shardmanager::router
