// `shardctl certs`: files alone.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "security/files.h"
#include "tests/cli/shardctl_fixture.h"

namespace shardmanager::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// That of the fixture's terminal.
constexpr security::UnixSeconds kNow = 1'772'366'523;

class CertsTest : public ShardctlTest {
 protected:
  CertsTest() {
    std::string pattern = testing::TempDir() + "/certs.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~CertsTest() override { std::filesystem::remove_all(folder_); }

  ExitCode Certs(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "certs");
    arguments.insert(arguments.end(), {"--folder", folder_ + "/certs"});
    return RunAsIs(arguments);
  }
  ExitCode Check(const std::string& who) { return RunAsIs({"certs", "check", Folder(who)}); }
  std::string Folder(const std::string& who) const { return folder_ + "/certs/" + who; }
  std::string Read(const std::string& path) const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Would a process with the one believe one with the other?
  bool Believes(const std::string& who, const std::string& other) const {
    const auto authorities = security::Authorities::OfPem(Read(Folder(who) + "/ca.pem"));
    EXPECT_TRUE(authorities.ok()) << authorities.status();
    const std::string certificate = Read(Folder(other) + "/cert.pem");
    return (*authorities)
        ->Verify(certificate, "", security::Authorities::Side::kConnects, kNow)
        .ok();
  }

  std::string folder_;
};

TEST_F(CertsTest, MakesAnAuthorityAndCertificates) {
  ASSERT_EQ(Certs({"init", "--cell", "prod"}), kOk) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("The authority of cell prod is in"), HasSubstr("2036-")));
  ASSERT_EQ(Certs({"issue", "server/kv/kv-1", "client/kv/shop/checkout", "--days", "30"}), kOk)
      << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("server/kv/kv-1: " + Folder("server/kv/kv-1")),
                          HasSubstr("until 2026-03-31")));
  ASSERT_EQ(Check("server/kv/kv-1"), kOk) << err_;
  EXPECT_THAT(out_, HasSubstr("is spiffe://prod/server/kv/kv-1 until 2026-03-31"));
  ASSERT_EQ(Certs({"list"}), kOk);
  EXPECT_THAT(out_, AllOf(HasSubstr("(authority of cell prod)"),
                          HasSubstr("client/kv/shop/checkout"), HasSubstr("good")));
  EXPECT_EQ(admin_.requests().size(), 0u);
}

TEST_F(CertsTest, SaysWhatIsWrong) {
  EXPECT_EQ(Certs({"issue", "relay/eu-1"}), kRefused);
  EXPECT_THAT(err_, AllOf(HasSubstr("found no authority"), HasSubstr("shardctl certs init")));
  ASSERT_EQ(Certs({"init", "--cell", "prod"}), kOk);
  EXPECT_EQ(Certs({"init", "--cell", "prod"}), kRefused);
  EXPECT_THAT(err_, HasSubstr("an authority is there already"));
  EXPECT_EQ(Certs({"issue", "server/kv-1"}), kUsage);
  EXPECT_THAT(err_, HasSubstr("server/APP/NAME"));
  ASSERT_EQ(Certs({"issue", "relay/eu-1"}), kOk);
  EXPECT_EQ(Certs({"issue", "relay/eu-1"}), kRefused);
  EXPECT_THAT(err_, HasSubstr("shardctl certs renew"));
  EXPECT_EQ(Certs({"renew", "relay/eu-2"}), kRefused);
  EXPECT_THAT(err_, HasSubstr("found \"relay/eu-2\"; allowed: one of `shardctl certs list`"));
  std::ofstream(Folder("relay/eu-1") + "/key.pem") << Read(folder_ + "/certs/ca-key.pem");
  EXPECT_EQ(Check("relay/eu-1"), kUsage);
  EXPECT_THAT(err_, HasSubstr(Folder("relay/eu-1") + "/key.pem"));
}

TEST_F(CertsTest, RenewsInPlace) {
  ASSERT_EQ(Certs({"init", "--cell", "prod"}), kOk);
  ASSERT_EQ(Certs({"issue", "relay/eu-1", "relay/eu-2"}), kOk);
  ASSERT_EQ(Certs({"renew"}), kOk);
  EXPECT_THAT(out_, HasSubstr("None is due"));
  const std::string certificate = Read(Folder("relay/eu-1") + "/cert.pem");
  const std::string key = Read(Folder("relay/eu-1") + "/key.pem");
  ASSERT_EQ(Certs({"renew", "relay/eu-1"}), kOk) << err_;
  EXPECT_NE(Read(Folder("relay/eu-1") + "/cert.pem"), certificate);
  EXPECT_EQ(Read(Folder("relay/eu-1") + "/key.pem"), key);
  ASSERT_EQ(Certs({"renew", "--all", "--new-key"}), kOk) << err_;
  EXPECT_NE(Read(Folder("relay/eu-1") + "/key.pem"), key);
  EXPECT_EQ(Check("relay/eu-1"), kOk) << err_;
}

// At each moment the one who has the files of the step before believes the one who has the next
// ones, and the other way round.
TEST_F(CertsTest, ReplacesTheAuthorityWithoutABreak) {
  ASSERT_EQ(Certs({"init", "--cell", "prod"}), kOk);
  ASSERT_EQ(Certs({"issue", "relay/eu-1"}), kOk);
  EXPECT_EQ(Certs({"ca", "use"}), kRefused);
  EXPECT_THAT(err_, HasSubstr("shardctl certs ca add"));
  EXPECT_EQ(Certs({"ca", "drop"}), kRefused);

  const auto keep = [this](const std::string& as) {
    std::filesystem::copy(Folder("relay/eu-1"), Folder(as),
                          std::filesystem::copy_options::recursive);
  };
  const auto believe_each_other = [this](const std::string& a, const std::string& b) {
    return Believes(a, b) && Believes(b, a);
  };
  std::filesystem::create_directory(folder_ + "/certs/../old");
  keep("../old/first");
  ASSERT_EQ(Certs({"ca", "add"}), kOk) << err_;
  EXPECT_EQ(Certs({"ca", "add"}), kRefused);
  EXPECT_EQ(Certs({"ca", "drop"}), kRefused);
  EXPECT_TRUE(believe_each_other("../old/first", "relay/eu-1"));
  keep("../old/added");
  ASSERT_EQ(Certs({"ca", "use"}), kOk) << err_;
  EXPECT_TRUE(believe_each_other("../old/added", "relay/eu-1"));
  EXPECT_FALSE(Believes("../old/first", "relay/eu-1"));
  ASSERT_EQ(Certs({"issue", "relay/eu-2"}), kOk) << err_;
  EXPECT_TRUE(believe_each_other("../old/added", "relay/eu-2"));
  keep("../old/used");
  ASSERT_EQ(Certs({"ca", "drop"}), kOk) << err_;
  EXPECT_TRUE(believe_each_other("../old/used", "relay/eu-1"));
  EXPECT_TRUE(believe_each_other("relay/eu-2", "relay/eu-1"));
  EXPECT_FALSE(Believes("relay/eu-1", "../old/added"));
  EXPECT_EQ(Check("relay/eu-1"), kOk) << err_;
  EXPECT_EQ(Certs({"ca", "drop"}), kRefused);
}

TEST_F(CertsTest, KeysAreNotPrinted) {
  ASSERT_EQ(Certs({"init", "--cell", "prod"}), kOk);
  std::string said = out_ + err_;
  ASSERT_EQ(Certs({"issue", "relay/eu-1"}), kOk);
  said += out_ + err_;
  ASSERT_EQ(Certs({"list"}), kOk);
  said += out_ + err_;
  EXPECT_THAT(said, Not(HasSubstr("PRIVATE KEY")));
}

}  // namespace
}  // namespace shardmanager::cli
