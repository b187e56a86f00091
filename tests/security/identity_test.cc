#include "security/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace shardmanager::security {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(IdentityTest, EachFormIsReadAndWrittenAlike) {
  for (const std::string uri :
       {"spiffe://prod/control-plane/sm-1", "spiffe://prod/relay/eu-1",
        "spiffe://prod/server/kv/kv-3", "spiffe://prod/client/kv/checkout",
        "spiffe://prod/client/kv/orders/checkout-7", "spiffe://prod/operator/alice",
        "spiffe://prod/admin/bob", "spiffe://trial/trial/local"}) {
    const auto identity = IdentityOfUri(uri);
    ASSERT_TRUE(identity.ok()) << identity.status();
    EXPECT_EQ(ToUri(*identity), uri);
  }
  const Identity client = *IdentityOfUri("spiffe://prod/client/kv/orders/checkout-7");
  EXPECT_EQ(client.kind, Kind::kClient);
  EXPECT_THAT(client.apps, ElementsAre("kv", "orders"));
  EXPECT_EQ(client.name, "checkout-7");
}

TEST(IdentityTest, EverythingElseIsRefused) {
  std::string many_apps = "spiffe://prod/client";
  for (size_t i = 0; i <= kMostApps; ++i) many_apps += "/a";
  for (const std::string& uri :
       {std::string(), std::string("spiffe://"), std::string("spiffe://prod"),
        std::string("spiffe://prod/"), std::string("spiffe://prod/server"),
        std::string("spiffe://prod/server/kv"), std::string("spiffe://prod/server/kv/a/b"),
        std::string("spiffe://prod/client/kv"), std::string("spiffe://prod/relay/a/b"),
        std::string("spiffe:///server/kv/a"), std::string("spiffe://prod//kv/a"),
        std::string("spiffe://prod/server/kv/"), std::string("spiffe://prod/server/../a"),
        std::string("spiffe://prod/server/k%76/a"), std::string("spiffe://prod/server/k v/a"),
        std::string("SPIFFE://prod/server/kv/a"), std::string("https://prod/server/kv/a"),
        std::string("spiffe://prod/Server/kv/a"), std::string("spiffe://prod/server/kv/a?x"),
        std::string("spiffe://user@prod/server/kv/a"), std::string("spiffe://prod:1/server/kv/a"),
        std::string("spiffe://prod/server/kv/") + std::string(128, 'a'),
        std::string("spiffe://prod/server/kv/a\0b", 26), many_apps + "/name",
        // Trials have no cell, and no cell has trials.
        std::string("spiffe://prod/trial/local"), std::string("spiffe://trial/server/kv/a")}) {
    EXPECT_FALSE(IdentityOfUri(uri).ok()) << uri;
  }
  EXPECT_THAT(
      Message(IdentityOfUri("spiffe://prod/boss/a\n").status()),
      testing::AllOf(HasSubstr("found \"spiffe://prod/boss/a\\n\""), HasSubstr("server/APP/NAME")));
  EXPECT_LT(IdentityOfUri(std::string(100'000, 'x')).status().message().size(), 1'000U);
}

TEST(IdentityTest, DnsNamesSayTheSameBackwards) {
  EXPECT_EQ(*IdentityOfDns("kv-3.kv.server.prod.shardmanager"),
            *IdentityOfUri("spiffe://prod/server/kv/kv-3"));
  EXPECT_EQ(*IdentityOfDns("sm-1.example.control-plane.prod.shardmanager"),
            *IdentityOfUri("spiffe://prod/control-plane/sm-1.example"));
  EXPECT_EQ(*IdentityOfDns("a.b.kv.client.prod.shardmanager"),
            *IdentityOfUri("spiffe://prod/client/kv/a.b"));
  for (const std::string name :
       {"shardmanager", ".shardmanager", "prod.shardmanager", "server.prod.shardmanager",
        "kv.server.prod.shardmanager", ".kv.server.prod.shardmanager", "kv-3.kv.server.prod"}) {
    EXPECT_FALSE(IdentityOfDns(name).ok()) << name;
  }
}

TEST(IdentityTest, ACertificateHasExactlyOne) {
  const std::string server = "spiffe://prod/server/kv/kv-3";
  EXPECT_EQ(ToUri(*IdentityOf({.uris = {"https://example.com", server}, .dns = {"kv-3.local"}})),
            server);
  EXPECT_EQ(ToUri(*IdentityOf({.uris = {server}, .dns = {"kv-3.kv.server.prod.shardmanager"}})),
            server);
  EXPECT_TRUE(absl::IsNotFound(IdentityOf({.dns = {"kv-3.local"}}).status()));
  EXPECT_THAT(Message(IdentityOf({.uris = {server, "spiffe://prod/admin/eve"}}).status()),
              HasSubstr("names two: spiffe://prod/server/kv/kv-3 and spiffe://prod/admin/eve"));
  // One that is wrong is not left out: who signed it may have meant something else.
  EXPECT_TRUE(
      absl::IsInvalidArgument(IdentityOf({.uris = {server, "spiffe://prod/x/y"}}).status()));
}

class ExpectedTest : public testing::Test {
 protected:
  static absl::Status CheckOf(const std::string& self, const std::string& other,
                              const Expected& expected) {
    return Check(*IdentityOfUri(self), *IdentityOfUri(other), expected);
  }
};

TEST_F(ExpectedTest, KindAppNameAndCellHaveToFit) {
  const std::string self = "spiffe://prod/control-plane/sm-1";
  const std::string server = "spiffe://prod/server/kv/kv-3";
  EXPECT_TRUE(CheckOf(self, server, {AServerOf("kv", "kv-3")}).ok());
  EXPECT_TRUE(CheckOf(self, server, AServerOf("kv")).ok());
  EXPECT_TRUE(CheckOf(self, server, Anybody()).ok());
  EXPECT_FALSE(CheckOf(self, server, {AServerOf("kv", "kv-4")}).ok());
  EXPECT_FALSE(CheckOf(self, server, AServerOf("orders", "kv-3")).ok());
  EXPECT_FALSE(CheckOf(self, server, AControlPlane()).ok());
  EXPECT_FALSE(CheckOf(self, "spiffe://prod/client/kv/kv-3", {AServerOf("kv", "kv-3")}).ok());
  EXPECT_FALSE(CheckOf(self, "spiffe://test/server/kv/kv-3", {AServerOf("kv", "kv-3")}).ok());
  EXPECT_TRUE(CheckOf(self, "spiffe://prod/relay/eu-1", AMapSource()).ok());
  EXPECT_EQ(Message(CheckOf(self, server, {AServerOf("kv", "kv-4")})),
            "found spiffe://prod/server/kv/kv-3; allowed: server kv-4 of app kv of cell prod");
}

TEST_F(ExpectedTest, AProcessHasTheCertificateThatItsOptionsSay) {
  const Identity server = *IdentityOfUri("spiffe://prod/server/kv/kv-3");
  EXPECT_TRUE(CheckOwn(server, "prod", {AServerOf("kv", "kv-3")}).ok());
  EXPECT_TRUE(
      CheckOwn(*IdentityOfUri("spiffe://trial/trial/local"), "prod", {AControlPlane()}).ok());
  EXPECT_FALSE(CheckOwn(server, "test", {AServerOf("kv", "kv-3")}).ok());
  EXPECT_EQ(Message(CheckOwn(server, "prod", {AServerOf("kv", "kv-4")})),
            "the certificate is of another: found spiffe://prod/server/kv/kv-3; allowed: server "
            "kv-4 of app kv of cell prod");
}

TEST_F(ExpectedTest, ThoseOnTrialAreBelievedByEachOtherAlone) {
  const std::string trial = "spiffe://trial/trial/local";
  const std::string server = "spiffe://prod/server/kv/kv-3";
  EXPECT_TRUE(CheckOf(trial, trial, {AServerOf("kv", "kv-4")}).ok());
  EXPECT_FALSE(CheckOf(server, trial, Anybody()).ok());
  EXPECT_FALSE(CheckOf(trial, server, Anybody()).ok());
}

}  // namespace
}  // namespace shardmanager::security
