// `kv`, the client that a cell is tried with by hand.
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "runtime/clock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class KvTest : public ClusterTest {
 protected:
  using Result = local::Cluster::CommandResult;

  Result Kv(std::vector<std::string> words) {
    words.insert(words.begin(), {"--discovery", cluster_->discovery_endpoint()});
    return cluster_->Run("kv", words);
  }
};

TEST_F(KvTest, PutsGetsScansAndDeletes) {
  SM_ASSERT_OK(StartServing(2, 6));
  for (int shard = 5; shard >= 0; --shard) {
    const Result put = Kv({"put", KeyOf(shard), absl::StrCat("value ", shard)});
    EXPECT_EQ(put.exit_code, 0) << put.output;
    EXPECT_THAT(put.output, ContainsRegex("stored by server kv-[12], shard .*, epoch "));
  }
  EXPECT_EQ(Kv({"get", KeyOf(3)}).output, "value 3\n");

  std::string rows;
  for (int shard = 0; shard < 6; ++shard) {
    absl::StrAppend(&rows, KeyOf(shard), "\tvalue ", shard, "\n");
  }
  EXPECT_EQ(Kv({"scan"}).output, rows + "6 rows\n");
  EXPECT_EQ(Kv({"scan", KeyOf(1), KeyOf(2)}).output, KeyOf(1) + "\tvalue 1\n1 row\n");
  EXPECT_THAT(Kv({"scan", "--limit", "2"}).output,
              AllOf(HasSubstr("2 rows; there are more (--limit)"), Not(HasSubstr("value 2"))));

  EXPECT_THAT(Kv({"delete", KeyOf(3)}).output, HasSubstr("deleted by server"));
  EXPECT_THAT(Kv({"delete", KeyOf(3)}).output, HasSubstr("was not there"));
  const Result gone = Kv({"get", KeyOf(3)});
  EXPECT_EQ(gone.exit_code, 4);
  EXPECT_THAT(gone.output, HasSubstr(absl::StrCat("there is no key ", KeyOf(3), " in app kv")));

  EXPECT_EQ(Kv({"put", "--hex", "75f0", "bytes"}).exit_code, 0);
  EXPECT_EQ(Kv({"get", "--hex", "75F0"}).output, "bytes\n");
  EXPECT_THAT(Kv({"scan", "u"}).output, HasSubstr("u\\xf0\tbytes\n"));
}

TEST_F(KvTest, SaysWhatFailedAndWhy) {
  SM_ASSERT_OK(StartServing(1, 2));
  const Result no_app = Kv({"get", "apple", "--app", "shop"});
  EXPECT_EQ(no_app.exit_code, 4);
  EXPECT_THAT(no_app.output,
              AllOf(HasSubstr("kv: get apple: NOT_FOUND: shop: there is no such app"),
                    HasSubstr("shardctl get apps")));

  const Result other_cell = Kv({"get", "apple", "--cell", "prod"});
  EXPECT_EQ(other_cell.exit_code, 1);
  EXPECT_THAT(other_cell.output, AllOf(HasSubstr("prod"), HasSubstr("local")));

  const Result bad_key = Kv({"get", "--hex", "75f"});
  EXPECT_EQ(bad_key.exit_code, 2);
  EXPECT_THAT(bad_key.output, HasSubstr("\"75f\" is not a key in hexadecimal"));
  EXPECT_EQ(Kv({"get"}).exit_code, 2);
  EXPECT_EQ(Kv({}).exit_code, 2);
  const Result bad_port = cluster_->Run("kv", {"get", "apple", "--discovery", "127.0.0.1:99999"});
  EXPECT_EQ(bad_port.exit_code, 2);
  EXPECT_THAT(bad_port.output, HasSubstr("\"127.0.0.1:99999\" is no endpoint"));

  const Result no_certs = Kv({"get", "apple", "--certs", cluster_->folder() + "/nowhere"});
  EXPECT_EQ(no_certs.exit_code, 1);
  EXPECT_THAT(no_certs.output, HasSubstr("/nowhere"));

  cluster_->discovery().Stop();
  const Result silent = Kv({"get", "apple", "--timeout-ms", "1000"});
  EXPECT_EQ(silent.exit_code, 3);
  EXPECT_THAT(silent.output,
              AllOf(HasSubstr("no shard map has come"), HasSubstr(cluster_->discovery_endpoint())));
}

TEST_F(KvTest, LoadIsBoundedAndSummedUp) {
  SM_ASSERT_OK(StartServing(2, 6));
  const Result load = Kv({"load", "--seconds", "2", "--rate", "200", "--keys", "60"});
  EXPECT_EQ(load.exit_code, 0) << load.output;
  EXPECT_THAT(load.output,
              AllOf(HasSubstr("60 keys in an app of 6 shards, for 2 s\n"),
                    ContainsRegex("1 s: [0-9]+ calls, 0 failed so far"),
                    ContainsRegex("400 calls in 2.[0-9] s, .* puts, .* gets, 0 failed"),
                    ContainsRegex("latency: 50% .* ms, 90% .*, longest "),
                    HasSubstr("acknowledged puts that a get did not find: 0\n")));
  EXPECT_THAT(Kv({"scan", "00005"}).output, HasSubstr(".load-"));
}

TEST_F(KvTest, LoadFindsWhatWasLost) {
  SM_ASSERT_OK(StartServing(1, 2));
  Result load;
  std::thread loading([&] {
    load = Kv({"load", "--seconds", "4", "--rate", "100", "--keys", "1", "--clients", "1", "--gets",
               "90"});
  });
  int deleted = 0;
  for (const TimePoint until = MonotonicNow() + kPatience; deleted < 3 && MonotonicNow() < until;) {
    if (Kv({"delete", ".load-0"}).output.starts_with("deleted")) ++deleted;
  }
  loading.join();
  EXPECT_EQ(deleted, 3);
  EXPECT_EQ(load.exit_code, 1) << load.output;
  EXPECT_THAT(load.output, HasSubstr("one of them of the key .load-0"));
}

}  // namespace
}  // namespace shardmanager::testing
