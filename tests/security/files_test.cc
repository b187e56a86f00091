#include "security/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "security/authority.h"
#include "tests/security/scratch_folder.h"

namespace shardmanager::security {
namespace {

using shardmanager::testing::ScratchFolder;
using shardmanager::testing::Variable;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr UnixSeconds kNow = 1'767'225'600;  // 2026-01-01

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(PathsOfTest, AFolderOrThreePaths) {
  const auto folder = PathsOf({.certs = "/etc/kv"});
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ((*folder)->ca, "/etc/kv/ca.pem");
  EXPECT_EQ((*folder)->cert, "/etc/kv/cert.pem");
  EXPECT_EQ((*folder)->key, "/etc/kv/key.pem");
  const auto paths = PathsOf({.ca = "a", .cert = "b", .key = "c"});
  ASSERT_TRUE(paths.ok());
  EXPECT_EQ((*paths)->key, "c");
}

TEST(PathsOfTest, WhoIsToBeInsecureHasNone) {
  const auto none = PathsOf({.insecure = true});
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
}

TEST(PathsOfTest, SaysWhatIsMissingAndWhatContradicts) {
  EXPECT_THAT(Message(PathsOf({.cert = "b", .key = "c"}).status()), HasSubstr("--tls-ca) are"));
  EXPECT_THAT(Message(PathsOf({.ca = "a", .key = "c"}).status()), HasSubstr("--tls-cert) is"));
  EXPECT_THAT(Message(PathsOf({.ca = "a", .cert = "b"}).status()), HasSubstr("--tls-key) is"));
  for (const Security& both :
       {Security{.certs = "f", .insecure = true}, Security{.certs = "f", .ca = "a"},
        Security{.key = "c", .insecure = true}}) {
    EXPECT_THAT(Message(PathsOf(both).status()), HasSubstr("found more than one"));
  }
}

TEST(PathsOfTest, WithoutAWordTheEnvironmentSaysElseItIsAnError) {
  const ScratchFolder home;
  const Variable at_home("HOME", home.path());
  {
    const Variable named("SM_CERTS", home.path());
    EXPECT_EQ((*PathsOf({}))->ca, home.path() + "/ca.pem");
  }
  const Variable not_named("SM_CERTS", "");
  EXPECT_THAT(Message(PathsOf({}).status()),
              AllOf(HasSubstr("found no certificates"), HasSubstr(home.path()),
                    HasSubstr("shardctl certs"), HasSubstr("--insecure")));
  std::filesystem::create_directories(home.path() + "/.shardmanager/certs");
  EXPECT_EQ((*PathsOf({}))->ca, home.path() + "/.shardmanager/certs/ca.pem");
  const Variable nowhere("HOME", "");
  EXPECT_THAT(Message(PathsOf({}).status()), HasSubstr("HOME is not set"));
}

class CheckFilesTest : public ::testing::Test {
 protected:
  void SetUp() override { Put(Made("spiffe://prod/server/kv/kv-3"), authority_); }

  Credential Made(const std::string& uri) const {
    return *Issue(authority_, {.identity = *IdentityOfUri(uri)}, kNow);
  }
  void Put(const Credential& credential, const Credential& authority) const {
    ASSERT_TRUE(WriteText(paths_.ca, authority.certificate, false).ok());
    ASSERT_TRUE(WriteText(paths_.cert, credential.certificate, false).ok());
    ASSERT_TRUE(WriteText(paths_.key, credential.key, true).ok());
  }

  const ScratchFolder folder_;
  const Paths paths_ = PathsIn(folder_.path());
  const Credential authority_ = *MakeAuthority("prod", kNow);
};

TEST_F(CheckFilesTest, SaysWhoThisProcessIs) {
  const auto own = CheckFiles(paths_, kNow);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(ToUri(own->identity), "spiffe://prod/server/kv/kv-3");
  EXPECT_THAT(own->warnings, IsEmpty());
  chmod(paths_.key.c_str(), 0644);
  EXPECT_THAT(CheckFiles(paths_, kNow)->warnings,
              ::testing::ElementsAre(HasSubstr("key.pem: others")));
}

TEST_F(CheckFilesTest, ErrorsNameTheFileTheIdentityAndTheDate) {
  EXPECT_THAT(Message(CheckFiles(paths_, kNow + kCertificateLife + 1).status()),
              AllOf(HasSubstr(paths_.cert), HasSubstr("spiffe://prod/server/kv/kv-3"),
                    HasSubstr("ended at 2026-04-01 00:00:00 UTC")));
  EXPECT_THAT(Message(CheckFiles(paths_, kNow - 2 * kDay).status()),
              AllOf(HasSubstr(paths_.cert), HasSubstr("begins at 2025-12-31 00:00:00 UTC")));

  ASSERT_TRUE(WriteText(paths_.key, authority_.key, true).ok());
  EXPECT_THAT(Message(CheckFiles(paths_, kNow).status()),
              AllOf(HasSubstr(paths_.key), HasSubstr("not that of the certificate")));

  Put(Made("spiffe://prod/server/kv/kv-3"), *MakeAuthority("test", kNow));
  EXPECT_THAT(Message(CheckFiles(paths_, kNow).status()),
              AllOf(HasSubstr(paths_.cert), HasSubstr(paths_.ca), HasSubstr("signed by \"prod\""),
                    HasSubstr("allowed: \"test\"")));

  Put({.certificate = authority_.certificate, .key = authority_.key}, authority_);
  EXPECT_FALSE(CheckFiles(paths_, kNow).ok());  // nobody's identity

  ASSERT_TRUE(WriteText(paths_.ca, "hello", false).ok());
  EXPECT_THAT(Message(CheckFiles(paths_, kNow).status()),
              AllOf(HasSubstr(paths_.ca), HasSubstr("found no certificate")));
  std::filesystem::remove(paths_.key);
  EXPECT_THAT(Message(CheckFiles(paths_, kNow).status()), HasSubstr(paths_.key));
}

TEST_F(CheckFilesTest, SecretsAreForTheirOwnerAlone) {
  struct stat found = {};
  ASSERT_EQ(stat(paths_.key.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  ASSERT_EQ(stat(paths_.cert.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0644U);
  ASSERT_TRUE(WriteText(paths_.ca, std::string(2 << 20, 'x'), false).ok());
  EXPECT_THAT(Message(ReadText(paths_.ca).status()), HasSubstr("larger than 1 MiB"));
  EXPECT_FALSE(WriteText(folder_.path() + "/none/key.pem", "x", true).ok());
}

}  // namespace
}  // namespace shardmanager::security
