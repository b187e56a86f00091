#include "security/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "security/authority.h"

namespace shardmanager::security {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Side = Authorities::Side;

constexpr UnixSeconds kNow = 1'767'225'600;  // 2026-01-01

std::string Message(const absl::Status& status) { return std::string(status.message()); }

class CertificateTest : public testing::Test {
 protected:
  Credential Made(const std::string& uri, UnixSeconds life = kCertificateLife) const {
    auto issued = Issue(authority_, {.identity = *IdentityOfUri(uri), .life = life}, kNow);
    EXPECT_TRUE(issued.ok()) << issued.status();
    return *issued;
  }
  absl::Status Verified(const Credential& credential, UnixSeconds now = kNow) const {
    return believed_->Verify(credential.certificate, "", Side::kConnects, now);
  }

  const Credential authority_ = *MakeAuthority("prod", kNow);
  const std::shared_ptr<const Authorities> believed_ = *Authorities::OfPem(authority_.certificate);
};

TEST_F(CertificateTest, SaysWhoseItIsAndHowLongItHolds) {
  const auto issued = Issue(authority_,
                            {.identity = *IdentityOfUri("spiffe://prod/server/kv/kv-3"),
                             .hosts = {"kv-3.example.com", "10.0.0.7", "fe80::1"}},
                            kNow);
  ASSERT_TRUE(issued.ok()) << issued.status();
  const Certificate read = *CertificateOfPem(issued->certificate);
  EXPECT_THAT(read.names.uris, ElementsAre("spiffe://prod/server/kv/kv-3"));
  EXPECT_THAT(read.names.dns, ElementsAre("shardmanager", "kv-3.example.com"));
  EXPECT_THAT(read.names.addresses, ElementsAre("10.0.0.7", "fe80::1"));
  EXPECT_EQ(read.issuer, "prod");
  EXPECT_FALSE(read.is_authority);
  EXPECT_EQ(read.from, kNow - kBackdated);
  EXPECT_EQ(read.until, kNow + kCertificateLife);
  EXPECT_TRUE(CertificateOfPem(authority_.certificate)->is_authority);
  EXPECT_TRUE(CheckKey(issued->certificate, issued->key).ok());
  EXPECT_EQ(Message(CheckKey(issued->certificate, authority_.key)),
            "the key is not that of the certificate");
}

TEST_F(CertificateTest, OfTheAuthorityIsBelievedOnBothSides) {
  const Credential server = Made("spiffe://prod/server/kv/kv-3");
  for (const Side side : {Side::kConnects, Side::kIsConnectedTo}) {
    EXPECT_TRUE(believed_->Verify(server.certificate, "", side, kNow).ok());
  }
}

TEST_F(CertificateTest, IsBelievedFromItsFirstToItsLastSecond) {
  const Credential server = Made("spiffe://prod/server/kv/kv-3", 3'600);
  EXPECT_TRUE(Verified(server, kNow + 3'599).ok());
  EXPECT_TRUE(Verified(server, kNow - kBackdated).ok());
  EXPECT_EQ(Message(Verified(server, kNow + 3'600)),
            "the certificate of spiffe://prod/server/kv/kv-3 ended at 2026-01-01 01:00:00 UTC; "
            "this machine's clock says 2026-01-01 01:00:00 UTC");
  EXPECT_THAT(Message(CheckTime(*CertificateOfPem(server.certificate), kNow - kBackdated - 1)),
              HasSubstr("begins at 2025-12-31 00:00:00 UTC"));
  EXPECT_FALSE(Verified(server, kNow - kBackdated - 1).ok());
}

TEST_F(CertificateTest, OfAnotherAuthorityIsNotBelievedWhateverItsName) {
  const Credential other = *MakeAuthority("prod", kNow);
  const auto forged =
      Issue(other, {.identity = *IdentityOfUri("spiffe://prod/server/kv/kv-3")}, kNow);
  EXPECT_THAT(Message(Verified(*forged)),
              AllOf(HasSubstr("spiffe://prod/server/kv/kv-3"), HasSubstr("signed by \"prod\""),
                    HasSubstr("no key that is believed here")));
  // Nor when it brings its authority along.
  EXPECT_FALSE(
      believed_->Verify(forged->certificate, other.certificate, Side::kConnects, kNow).ok());
  // Both are believed while one takes the other's place.
  const auto both = Authorities::OfPem(authority_.certificate + other.certificate);
  ASSERT_TRUE(both.ok());
  EXPECT_TRUE((*both)->Verify(forged->certificate, "", Side::kConnects, kNow).ok());
  EXPECT_TRUE(
      (*both)->Verify(Made("spiffe://prod/admin/a").certificate, "", Side::kConnects, kNow).ok());
}

TEST_F(CertificateTest, ServersCannotSignOthers) {
  const Credential server = Made("spiffe://prod/server/kv/kv-3");
  const auto forged = Issue(server, {.identity = *IdentityOfUri("spiffe://prod/admin/eve")}, kNow);
  ASSERT_TRUE(forged.ok());
  EXPECT_FALSE(
      believed_->Verify(forged->certificate, server.certificate, Side::kConnects, kNow).ok());
  EXPECT_THAT(Message(Authorities::OfPem(server.certificate).status()),
              HasSubstr("allowed: certificates of authorities"));
}

TEST_F(CertificateTest, EndsWithItsAuthority) {
  const Credential short_lived = *MakeAuthority("prod", kNow, 10 * kDay);
  const Identity someone = *IdentityOfUri("spiffe://prod/operator/a");
  EXPECT_EQ(CertificateOfPem(Issue(short_lived, {.identity = someone}, kNow)->certificate)->until,
            kNow + 10 * kDay);
  EXPECT_THAT(Message(Issue(short_lived, {.identity = someone}, kNow + 11 * kDay).status()),
              HasSubstr("the authority \"prod\" ended at 2026-01-11"));
}

TEST_F(CertificateTest, WishesThatMeanSomethingElseAreRefused) {
  const Identity someone = *IdentityOfUri("spiffe://prod/operator/a");
  for (const std::string host : {"a,URI:spiffe://prod/admin/eve", "", "a b", "a\n"}) {
    EXPECT_FALSE(Issue(authority_, {.identity = someone, .hosts = {host}}, kNow).ok()) << host;
  }
  Identity wrong = someone;
  wrong.name = "a/b";
  EXPECT_FALSE(Issue(authority_, {.identity = wrong}, kNow).ok());
  EXPECT_FALSE(MakeAuthority("a,b", kNow).ok());
}

TEST_F(CertificateTest, WhatIsNoCertificateIsRefused) {
  EXPECT_THAT(Message(CertificateOfPem("hello").status()), HasSubstr("found no certificate"));
  std::string damaged = authority_.certificate;
  damaged[100] = damaged[100] == 'A' ? 'B' : 'A';
  damaged.resize(damaged.size() / 2);
  EXPECT_FALSE(CertificateOfPem(damaged).ok());
  EXPECT_FALSE(CertificateOfPem(std::string(2 << 20, 'x')).ok());
  EXPECT_FALSE(Verified({.certificate = "hello"}).ok());
  EXPECT_THAT(Message(CheckKey(authority_.certificate, authority_.certificate)),
              HasSubstr("found no private key"));
}

}  // namespace
}  // namespace shardmanager::security
