#include "coordination/access/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "coordination/access/store_access.h"
#include "tests/coordination/access/parties.h"

namespace shardmanager {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() {
    std::string pattern = testing::TempDir() + "/credentials.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~CredentialsTest() override { std::filesystem::remove_all(folder_); }

  std::string Put(const std::string& text, mode_t mode = 0600) {
    const std::string file = absl::StrCat(folder_, "/", ++files_);
    std::ofstream(file) << text;
    chmod(file.c_str(), mode);
    return file;
  }

  std::string folder_;
  int files_ = 0;
};

// What ZooKeeper's own tools say of "user:password".
TEST_F(CredentialsTest, DigestsAreZooKeepers) {
  EXPECT_EQ(DigestOf({"super", "admin"}), "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=");
}

TEST_F(CredentialsTest, EachPartyHasSecretsOfItsOwn) {
  const Credentials cell = NewCellCredentials("c");
  const Credentials other = NewCellCredentials("c");
  EXPECT_NE(cell.secrets[0].secret, other.secrets[0].secret);
  const Credentials kv = AppCredentials(cell, AppName("kv"));
  const Credentials kv1 = ServerCredentials(cell, AppName("kv"), ServerName("kv-1"));
  const Credentials kv2 = ServerCredentials(cell, AppName("kv"), ServerName("kv-2"));
  EXPECT_NE(kv1.secrets[0].secret, kv2.secrets[0].secret);
  EXPECT_NE(kv.secrets[0].secret, AppCredentials(cell, AppName("db")).secrets[0].secret);
  EXPECT_EQ(kv1.secrets[0].app_password, kv2.secrets[0].app_password);
  // The same cell, app and name: the same secret, so nothing has to be stored.
  EXPECT_EQ(kv1, ServerCredentials(cell, AppName("kv"), ServerName("kv-1")));
  // Nothing in a server's file is the secret of its app or cell.
  const std::string text = CredentialText(kv1);
  EXPECT_THAT(text, Not(HasSubstr(kv.secrets[0].secret)));
  EXPECT_THAT(text, Not(HasSubstr(cell.secrets[0].secret)));
}

TEST_F(CredentialsTest, FilesAreReadAsTheyWereWritten) {
  Credentials cell = NewCellCredentials("c");
  cell.secrets.push_back(NewCellCredentials("c").secrets[0]);
  for (const Credentials& credentials :
       {cell, AppCredentials(cell, AppName("kv")),
        ServerCredentials(cell, AppName("kv"), ServerName("kv-1"))}) {
    const auto read = ParseCredentials(CredentialText(credentials));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, credentials);
    const std::string file = absl::StrCat(folder_, "/", PartyOf(credentials));
    ASSERT_TRUE(WriteCredentials(file, credentials).ok());
    struct stat about {};
    ASSERT_EQ(stat(file.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 07777, 0600u);
    EXPECT_EQ(*ReadCredentials(file), credentials);
    EXPECT_EQ(WriteCredentials(file, credentials).code(), StatusCode::kAlreadyExists);
  }
}

TEST_F(CredentialsTest, FilesOfOthersAreRefusedWithTheirMode) {
  const std::string text = CredentialText(CellOfTests());
  for (const mode_t mode : {0640, 0604, 0660, 0601, 0644, 0620}) {
    const std::string file = Put(text, mode);
    const auto read = ReadCredentials(file);
    EXPECT_EQ(read.status().code(), StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(read.status().message()),
                AllOf(HasSubstr(file), HasSubstr(absl::StrFormat("found mode %04o", mode)),
                      HasSubstr("allowed: 0600 or 0400")));
  }
  EXPECT_TRUE(ReadCredentials(Put(text, 0600)).ok());
  EXPECT_TRUE(ReadCredentials(Put(text, 0400)).ok());
  EXPECT_EQ(ReadCredentials(folder_ + "/none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadCredentials(folder_).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(CredentialsTest, WhatIsWrongIsSaidWithoutTheSecret) {
  const std::string secret = CellOfTests().secrets[0].secret;
  const std::string good = CredentialText(CellOfTests());
  const auto why = [&](const std::string& text) {
    const auto read = ReadCredentials(Put(text));
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(read.status().message()), Not(HasSubstr(secret.substr(0, 16))));
    return std::string(read.status().message());
  };
  EXPECT_THAT(why(""), HasSubstr("kind: found nothing; allowed: one line of it"));
  EXPECT_THAT(why(secret), HasSubstr("line 1: allowed are"));
  EXPECT_THAT(why(absl::StrReplaceAll(good, {{"kind: cell", "kind: king"}})),
              HasSubstr("allowed: cell, app, server"));
  EXPECT_THAT(why(absl::StrReplaceAll(good, {{"cell: c\n", "cell: a/b\n"}})),
              HasSubstr("[A-Za-z0-9._-]"));
  EXPECT_THAT(why(absl::StrReplaceAll(good, {{secret, secret.substr(1)}})),
              HasSubstr("secret: found another value; allowed: 64 hexadecimal digits"));
  EXPECT_THAT(why(good + "secret: " + secret + "\nsecret: " + secret + "\n"),
              HasSubstr("secret: found 3 lines; allowed: 1 to 2"));
  EXPECT_THAT(why(good + "app-password: " + secret + "\n"), HasSubstr("not known for kind cell"));
  EXPECT_THAT(why(good + secret + ": x\n"), HasSubstr("not known for kind cell"));
  const std::string server = CredentialText(ServerCredentials(CellOfTests(), kKv, ServerName("s")));
  EXPECT_THAT(why(absl::StrReplaceAll(server, {{"app-password: ", "password: "}})),
              HasSubstr("app-password: found 0 lines; allowed: as many as secrets, 1"));
  EXPECT_THAT(why(good + std::string(kMostCredentialBytes, '#')), HasSubstr("more than 16384"));
}

TEST_F(CredentialsTest, AFileIsForWhomItSays) {
  const std::string cell = Put(CredentialText(CellOfTests()));
  const std::string app = Put(CredentialText(AppCredentials(CellOfTests(), kKv)));
  const std::string server =
      Put(CredentialText(ServerCredentials(CellOfTests(), kKv, ServerName("kv-1"))));
  const ServerName kv1("kv-1");
  EXPECT_TRUE(AccessOfControlPlane(cell, "c").ok());
  EXPECT_EQ(*AccessOfControlPlane("", "c"), nullptr);
  EXPECT_TRUE(AccessOfServer(app, "c", kKv, kv1).ok());
  EXPECT_TRUE(AccessOfServer(app, "c", kKv, ServerName("any")).ok());
  EXPECT_TRUE(AccessOfServer(server, "c", kKv, kv1).ok());
  const auto why = [](const auto& access) { return std::string(access.status().message()); };
  EXPECT_THAT(why(AccessOfControlPlane(cell, "d")),
              HasSubstr("found ZooKeeper credentials of cell \"c\"; allowed: those of \"d\""));
  EXPECT_THAT(why(AccessOfControlPlane(server, "c")),
              HasSubstr("found ZooKeeper credentials of server kv-1 of app kv, cell c"));
  EXPECT_THAT(why(AccessOfServer(cell, "c", kKv, kv1)),
              HasSubstr("which no application server should have"));
  EXPECT_THAT(why(AccessOfServer(app, "c", AppName("db"), kv1)), HasSubstr("app \"kv\""));
  EXPECT_THAT(why(AccessOfServer(server, "c", kKv, ServerName("kv-2"))),
              HasSubstr("server \"kv-1\"; allowed: those of \"kv-2\""));
  EXPECT_THAT(why(AccessOfServer(server, "d", kKv, kv1)), HasSubstr("cell \"c\""));
}

}  // namespace
}  // namespace shardmanager
