#include "base/pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>

namespace shardmanager {
namespace {

size_t ResidentPages() {
  size_t all = 0;
  size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident;
}

TEST(PagesTest, ContainersGrowFromTheHeapIntoPages) {
  PageVector<uint64_t> numbers;
  PageString text;
  for (uint64_t i = 0; i < 100'000; ++i) {
    numbers.push_back(i);
    text.push_back(static_cast<char>('a' + i % 26));
  }
  numbers.shrink_to_fit();
  const PageVector<uint64_t> copy = numbers;
  const PageVector<uint64_t> moved = std::move(numbers);
  EXPECT_EQ(copy, moved);
  EXPECT_EQ(std::accumulate(copy.begin(), copy.end(), uint64_t{0}), 4'999'950'000u);
  EXPECT_EQ(text[99'999], static_cast<char>('a' + 99'999 % 26));
}

// malloc would keep the second one.
TEST(PagesTest, WhatIsFreedGoesBackAndWhatIsOnlyReservedIsNotTaken) {
  constexpr size_t kPages = 4'000;
  const auto use = [] { return PageString(kPages * 4'096, 'x').back(); };
  EXPECT_EQ(use(), 'x');
  const size_t before = ResidentPages();
  EXPECT_EQ(use(), 'x');
  PageString reserved;
  reserved.reserve(kPages * 4'096);
  EXPECT_LT(ResidentPages(), before + kPages / 2);
}

}  // namespace
}  // namespace shardmanager
