#include "security/cert_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "security/files.h"
#include "tests/security/scratch_folder.h"

namespace shardmanager::security {
namespace {

using shardmanager::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr UnixSeconds kNow = 1'767'225'600;  // 2026-01-01

std::string Message(const absl::Status& status) { return std::string(status.message()); }

class CertFolderTest : public ::testing::Test {
 protected:
  absl::StatusOr<CertFolder> Make() const { return CertFolder::Make(path(), "prod", kNow); }
  std::string path() const { return scratch_.path() + "/certs"; }

  const ScratchFolder scratch_;
};

TEST_F(CertFolderTest, WhatItIssuesAProcessCanUse) {
  const auto made = Make();
  ASSERT_TRUE(made.ok()) << made.status();
  const auto folder = CertFolder::Open(path());  // by another run of the command
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(folder->cell(), "prod");
  const auto kept = folder->Issue("server/kv/kv-3", {"kv-3.example.com"}, kCertificateLife, kNow);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->folder, path() + "/server/kv/kv-3");
  const auto own = CheckFiles(PathsIn(kept->folder), kNow);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(ToUri(own->identity), "spiffe://prod/server/kv/kv-3");

  struct stat found = {};
  for (const std::string& secret : {path() + "/ca-key.pem", kept->folder + "/key.pem"}) {
    ASSERT_EQ(stat(secret.c_str(), &found), 0) << secret;
    EXPECT_EQ(found.st_mode & 0777, 0600U) << secret;
  }
  ASSERT_EQ(stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700U);
}

TEST_F(CertFolderTest, NothingThatIsThereIsLost) {
  const auto folder = Make();
  ASSERT_TRUE(folder.ok());
  EXPECT_TRUE(absl::IsAlreadyExists(Make().status()));
  ASSERT_TRUE(folder->Issue("relay/eu-1", {}, kCertificateLife, kNow).ok());
  EXPECT_TRUE(
      absl::IsAlreadyExists(folder->Issue("relay/eu-1", {}, kCertificateLife, kNow).status()));
  EXPECT_TRUE(absl::IsNotFound(CertFolder::Open(scratch_.path()).status()));
  EXPECT_THAT(Message(folder->Issue("../eve", {}, kCertificateLife, kNow).status()),
              HasSubstr("allowed: "));
  EXPECT_FALSE(folder->Issue("trial/eve", {}, kCertificateLife, kNow).ok());
}

TEST_F(CertFolderTest, RenewedWithItsKeyItsHostsAndAsLongAsBefore) {
  const auto folder = Make();
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(folder->Issue("server/kv/b", {}, kCertificateLife, kNow).ok());
  const auto first = folder->Issue("relay/eu-1", {"eu-1", "10.0.0.7"}, 30 * kDay, kNow);
  ASSERT_TRUE(first.ok());
  const auto all = folder->List();
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].identity, "relay/eu-1");
  EXPECT_EQ((*all)[1].identity, "server/kv/b");

  const std::string key = *ReadText(first->folder + "/key.pem");
  const UnixSeconds later = kNow + 25 * kDay;
  EXPECT_TRUE(IsDue(first->certificate, later));
  EXPECT_FALSE(IsDue((*all)[1].certificate, later));
  const auto renewed = folder->Renew((*all)[0], /*new_key=*/false, later);
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_EQ(renewed->certificate.until, later + 30 * kDay);
  EXPECT_THAT(renewed->certificate.names.dns, ElementsAre("shardmanager", "eu-1"));
  EXPECT_THAT(renewed->certificate.names.addresses, ElementsAre("10.0.0.7"));
  EXPECT_EQ(*ReadText(first->folder + "/key.pem"), key);
  EXPECT_TRUE(CheckFiles(PathsIn(first->folder), later).ok());

  ASSERT_TRUE(folder->Renew(*renewed, /*new_key=*/true, later).ok());
  EXPECT_NE(*ReadText(first->folder + "/key.pem"), key);
  EXPECT_TRUE(CheckFiles(PathsIn(first->folder), later).ok());
}

TEST_F(CertFolderTest, TrialCertificatesAreMadeOnceAndAnewWhenTheyAreDue) {
  const auto first = EnsureTrialFolder(path(), kNow);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(*first);
  const auto own = CheckFiles(PathsIn(path()), kNow);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->identity.kind, Kind::kTrial);
  EXPECT_FALSE(*EnsureTrialFolder(path(), kNow + kDay));
  EXPECT_TRUE(*EnsureTrialFolder(path(), kNow + 80 * kDay));
  EXPECT_TRUE(*EnsureTrialFolder(path(), kNow + 1'000 * kDay));
  EXPECT_TRUE(CheckFiles(PathsIn(path()), kNow + 1'000 * kDay).ok());
}

TEST_F(CertFolderTest, ATrialReplacesNothingThatSomebodyPutThere) {
  const auto folder = Make();
  ASSERT_TRUE(folder.ok());
  const auto kept = folder->Issue("operator/alice", {}, kCertificateLife, kNow);
  ASSERT_TRUE(kept.ok());
  const std::string cert = *ReadText(kept->folder + "/cert.pem");
  EXPECT_FALSE(*EnsureTrialFolder(kept->folder, kNow));
  EXPECT_THAT(Message(EnsureTrialFolder(kept->folder, kNow + 100 * kDay).status()),
              HasSubstr("ended at"));
  EXPECT_EQ(*ReadText(kept->folder + "/cert.pem"), cert);
}

}  // namespace
}  // namespace shardmanager::security
