#include "wire/request_address.h"

#include <gtest/gtest.h>

#include <string>

namespace shardmanager::wire {
namespace {

using Verdict = AddressReader::Verdict;

std::string HeaderOf(const RequestAddress& address) {
  std::string header;
  Append(address, header);
  return header;
}

// Servers of other versions read it.
TEST(RequestAddressTest, LooksAsItIsDocumented) {
  EXPECT_EQ(HeaderOf({"kv", "kv-3", "users-0042", true}), "p/kv/kv-3/users-0042");
  EXPECT_EQ(HeaderOf({"kv", "kv-3", "users-0042", false}), "a/kv/kv-3/users-0042");
}

TEST(RequestAddressTest, TheServerThatIsMeantReadsWhatWasWritten) {
  const AddressReader read("kv", "kv-3");
  for (const bool for_primary : {true, false}) {
    for (const std::string shard : {"s", "users-0042", "a/b", "/", "p/kv/kv-3/s"}) {
      const std::string header = HeaderOf({"kv", "kv-3", shard, for_primary});
      const auto address = read(header);
      EXPECT_EQ(address.verdict, Verdict::kForUs);
      EXPECT_EQ(address.shard, shard);
      EXPECT_EQ(address.for_primary, for_primary);
    }
  }
  EXPECT_EQ(read("p/kv/kv-3/").verdict, Verdict::kForUs);
  EXPECT_EQ(read("p/kv/kv-3/").shard, "");
}

TEST(RequestAddressTest, AnotherServersOrAppsIsNotOurs) {
  const AddressReader read("kv", "kv-3");
  for (const char* header : {"p/kv/kv-30/s", "p/kv/kv-/s", "p/kv2/kv-3/s", "a/kv-3/kv/s", "p/kv/",
                             "p/kv/kv-3", "p", "pkv/kv-3/s"}) {
    EXPECT_EQ(read(header).verdict, Verdict::kForOthers) << header;
  }
}

TEST(RequestAddressTest, AFormOfTomorrowIsNotKnown) {
  const AddressReader read("kv", "kv-3");
  for (const char* header : {"", "q/kv/kv-3/s", "/kv/kv-3/s", "P/kv/kv-3/s"}) {
    EXPECT_EQ(read(header).verdict, Verdict::kUnknown) << header;
  }
}

}  // namespace
}  // namespace shardmanager::wire
