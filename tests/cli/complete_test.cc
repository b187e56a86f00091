#include "cli/completion/complete.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"

namespace shardmanager::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CompleteTest : public testing::Test {
 protected:
  Candidates At(const std::vector<std::string>& words) {
    asked_.clear();
    return Complete(words, [this](const std::vector<std::string>& arguments) {
      asked_ = absl::StrJoin(arguments, " ");
      return std::vector<std::string>{"kv", "mail"};
    });
  }
  std::vector<std::string> Words(const std::vector<std::string>& words) {
    std::vector<std::string> found;
    for (const Candidate& candidate : At(words).words) found.push_back(candidate.word);
    return found;
  }
  // What the control plane was asked for.
  std::string Asked(const std::vector<std::string>& words) {
    At(words);
    return asked_;
  }

  std::string asked_;
};

TEST_F(CompleteTest, OffersCommandsThatBeginWithTheWord) {
  EXPECT_THAT(Words({"de"}), ElementsAre("describe", "delete"));
  EXPECT_THAT(Words({"--server", "h:1", "wa"}), ElementsAre("watch"));
  EXPECT_THAT(Words({"--server=h:1", "wa"}), ElementsAre("watch"));
  EXPECT_EQ(At({"wa"}).words.at(0).description,
            "Show what the control plane does and why, as it happens");
  EXPECT_THAT(Words({""}), Contains("apply"));
  EXPECT_THAT(Words({}), Contains("apply"));
}

TEST_F(CompleteTest, OffersFlagsOfTheCommandAndOfAll) {
  EXPECT_THAT(Words({"apply", "--d"}), ElementsAre("--dry-run"));
  EXPECT_THAT(Words({"delete", "--"}),
              testing::UnorderedElementsAre("--help", "--yes", "--server", "--timeout",
                                            "--operation-id", "--certs", "--tls-ca", "--tls-cert",
                                            "--tls-key", "--tls-migration", "--insecure"));
  EXPECT_THAT(Words({"-"}),
              testing::UnorderedElementsAre("--help", "--server", "--timeout", "--operation-id",
                                            "--certs", "--tls-ca", "--tls-cert", "--tls-key",
                                            "--tls-migration", "--insecure"));
}

TEST_F(CompleteTest, OffersTheWordsThatAValueMayBe) {
  EXPECT_THAT(Words({"get", "s"}), ElementsAre("servers", "shards"));
  EXPECT_THAT(Words({"describe", "s"}), ElementsAre("server", "shard"));
  EXPECT_THAT(Words({"delete", ""}), ElementsAre("app"));
  EXPECT_THAT(Words({"drain", "r"}), ElementsAre("rack", "region"));
  EXPECT_THAT(Words({"maintenance", ""}), ElementsAre("add", "list", "cancel"));
  EXPECT_THAT(Words({"maintenance", "add", "m-1", "r"}), ElementsAre("rack", "region"));
  EXPECT_THAT(Words({"maintenance", "add", "m-1", "rack", "a/b/c", "--impact", "m"}),
              ElementsAre("machine-loss"));
  EXPECT_THAT(Words({"top", ""}), ElementsAre("shards", "keys"));
  EXPECT_THAT(Words({"grant", "operator/a", "a"}), ElementsAre("app-owner", "admin"));
  EXPECT_THAT(Words({"can-i", "dr"}), ElementsAre("drain"));
  EXPECT_THAT(Words({"get", "gr"}), ElementsAre("grants"));
  EXPECT_THAT(Words({"rollout", ""}), ElementsAre("status"));
  EXPECT_THAT(Words({"rollout", "status", "-o", "w"}), ElementsAre("wide"));
  EXPECT_THAT(Words({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(Words({"get", "apps", "-o", "j"}), ElementsAre("json"));
  EXPECT_THAT(Words({"watch", "--output", ""}), ElementsAre("table", "json"));
}

TEST_F(CompleteTest, AsksTheControlPlaneForNames) {
  EXPECT_THAT(Words({"describe", "app", ""}), ElementsAre("kv", "mail"));
  EXPECT_THAT(Words({"describe", "app", "k"}), ElementsAre("kv"));
  EXPECT_EQ(Asked({"describe", "app", ""}), "apps");
  EXPECT_EQ(Asked({"-s", "h:1", "get", "shard", "--app", "kv", ""}),
            "shards --app kv --server h:1");
  EXPECT_EQ(Asked({"explain", ""}), "apps");
  EXPECT_EQ(Asked({"grant", "operator/a", "app-owner", "--app", ""}), "apps");
  EXPECT_EQ(Asked({"explain", "kv", ""}), "shards --app kv");
  EXPECT_EQ(Asked({"explain", "kv", "s-1", "--on", ""}), "servers --app kv");
  EXPECT_EQ(Asked({"watch", "--app", ""}), "apps");
  EXPECT_EQ(Asked({"top", "keys", ""}), "apps");
  EXPECT_EQ(Asked({"rollout", "status", ""}), "apps");
  EXPECT_EQ(Asked({"drain", "server", ""}), "servers");
  EXPECT_EQ(Asked({"release", "server", "-a", "kv", ""}), "servers --app kv");
  EXPECT_EQ(Asked({"retry", "shard", "-a", "kv", ""}), "shards --app kv");
  EXPECT_EQ(Asked({"unpin", "shard", "-a", "kv", ""}), "shards --app kv");
}

TEST_F(CompleteTest, AsksForNothingThatTheControlPlaneDoesNotName) {
  EXPECT_EQ(Asked({"drain", "rack", ""}), "");
  EXPECT_EQ(Asked({"get", ""}), "");
}

TEST_F(CompleteTest, OffersFilesWhereAFileIsExpected) {
  EXPECT_TRUE(At({"apply", "-f", ""}).files);
  EXPECT_TRUE(At({"place", ""}).files);
  EXPECT_TRUE(At({"place", "model.txt", "as"}).files);
  EXPECT_FALSE(At({"get", ""}).files);
}

TEST_F(CompleteTest, OffersNothingWhereNothingIsExpected) {
  EXPECT_THAT(Words({"nonsense", ""}), IsEmpty());
  EXPECT_THAT(Words({"version", ""}), IsEmpty());
  EXPECT_THAT(Words({"get", "apps", "kv", ""}), IsEmpty());
  EXPECT_THAT(Words({"get", "--timeout", ""}), IsEmpty());
}

TEST(CompleteLinesTest, AreForScripts) {
  EXPECT_EQ(ToLines({{{"get", "List"}, {"kv"}}, /*files=*/true}), "get\tList\nkv\t\n:files\n");
}

}  // namespace
}  // namespace shardmanager::cli
