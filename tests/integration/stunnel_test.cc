// The recipe in deploy/stunnel: sessions with ZooKeeper through TLS on both sides.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "coordination/access/store_access.h"
#include "coordination/zookeeper/private_zookeeper.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "runtime/child_process.h"
#include "tests/coordination/access/parties.h"
#include "tests/coordination/tcp_proxy.h"

namespace shardmanager {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::seconds kPatience{20};

class StunnelTest : public testing::Test {
 protected:
  StunnelTest() {
    std::string pattern = testing::TempDir() + "/stunnel.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~StunnelTest() override { std::filesystem::remove_all(folder_); }

  void SetUp() override {
    auto started = PrivateZookeeper::Start(
        {.data_dir = folder_ + "/zookeeper", .tick_ms = 200, .force_sync = false});
    ASSERT_TRUE(started.ok()) << started.status();
    zookeeper_ = *std::move(started);
    MakeCa("ca");
    MakeCertificate("ca", "server", "zookeeper.example");
    MakeCertificate("ca", "client", "sm-1.example");
  }

  std::string File(const std::string& name) const { return folder_ + "/" + name; }

  void OpenSsl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "openssl");
    auto process = ChildProcess::Start({.argv = arguments, .log_file = File("openssl.log")});
    ASSERT_TRUE(process.ok()) << process.status();
    ASSERT_EQ(process->Wait(kPatience), 0);
  }
  void MakeCa(const std::string& name) {
    OpenSsl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-days", "2", "-subj", "/CN=" + name, "-keyout", File(name + ".key"), "-out",
             File(name + ".pem")});
  }
  void MakeCertificate(const std::string& ca, const std::string& name, const std::string& host) {
    OpenSsl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
             "/CN=" + host, "-addext", "subjectAltName=DNS:" + host, "-keyout", File(name + ".key"),
             "-out", File(name + ".csr")});
    OpenSsl({"x509", "-req", "-in", File(name + ".csr"), "-CA", File(ca + ".pem"), "-CAkey",
             File(ca + ".key"), "-CAcreateserial", "-days", "2", "-copy_extensions", "copyall",
             "-out", File(name + ".pem")});
  }

  // The shipped configuration with other ports and files; `names` says which files.
  ChildProcess Tunnel(const std::string& conf, const std::string& name, int accept, int connect,
                      const std::string& certificate, const std::string& ca = "ca") {
    std::ifstream in(std::string(std::getenv("SM_SOURCE_DIR")) + "/deploy/stunnel/" + conf);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string tls = "/etc/shardmanager/tls/";
    const bool client = conf == "zookeeper-client.conf";
    const std::string side = client ? "client" : "server";
    text = absl::StrReplaceAll(
        text, {{client ? "accept = 127.0.0.1:2181" : "accept = 2281",
                absl::StrCat("accept = 127.0.0.1:", accept)},
               {client ? "connect = zookeeper.example:2281" : "connect = 127.0.0.1:2181",
                absl::StrCat("connect = 127.0.0.1:", connect)},
               {tls + side + ".pem", File(certificate + ".pem")},
               {tls + side + ".key", File(certificate + ".key")},
               {tls + "ca.pem", File(ca + ".pem")}});
    EXPECT_THAT(text, Not(HasSubstr("= /etc/"))) << "all files are replaced";
    std::ofstream(File(name + ".conf")) << text;
    auto process = ChildProcess::Start(
        {.argv = {"stunnel4", File(name + ".conf")}, .log_file = File(name + ".log")});
    EXPECT_TRUE(process.ok()) << process.status();
    EXPECT_TRUE(Answers(accept)) << Log(name);
    return *std::move(process);
  }
  std::string Log(const std::string& name) const {
    std::ifstream in(File(name + ".log"));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // What is logged may come after what a client sees: waits for it.
  std::string LogWith(const std::string& name, const std::string& text) const {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    std::string log = Log(name);
    while (log.find(text) == std::string::npos && std::chrono::steady_clock::now() < deadline) {
      sched_yield();
      log = Log(name);
    }
    return log;
  }

  // A connection to the port; negative: none.
  static int Connect(int port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    close(fd);
    return -1;
  }
  // Until it listens.
  static bool Answers(int port) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      const int fd = Connect(port);
      if (fd >= 0) return close(fd) == 0;
      sched_yield();
    }
    return false;
  }
  // What is answered to "ruok" there: "imok" by ZooKeeper. ZooKeeper reads these four bytes and
  // closes the connection. With any more the kernel would reset it, since they were not read, and
  // the answer could be lost on its way through the tunnel.
  static std::string Ruok(int port) { return Answer(port, "ruok"); }
  // What is answered to `question` there until the connection ends; "": nothing, or no connection.
  static std::string Answer(int port, const std::string& question) {
    const int fd = Connect(port);
    if (fd < 0) return "";
    const timeval patience{.tv_sec = kPatience.count(), .tv_usec = 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string answer;
    if (send(fd, question.data(), question.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(question.size())) {
      char bytes[64];
      for (ssize_t got; (got = recv(fd, bytes, sizeof bytes, 0)) > 0;) answer.append(bytes, got);
    }
    close(fd);
    return answer;
  }

  // Makes a node there, in the name of the cell's control plane.
  static absl::Status Use(int port, const std::string& path) {
    const auto session = ZookeeperStoreFactory(absl::StrCat("127.0.0.1:", port), ControlPlane())
                             .NewSession({.timeout = kPatience});
    std::promise<absl::Status> made;
    session->Multi({CreateNode{path, "data"}},
                   [&](const WriteResult& result) { made.set_value(result.status); });
    auto answer = made.get_future();
    if (answer.wait_for(kPatience) != std::future_status::ready) {
      session->Close();
      return absl::DeadlineExceededError("no answer");
    }
    return answer.get();
  }

  std::string folder_;
  std::unique_ptr<PrivateZookeeper> zookeeper_;
};

TEST_F(StunnelTest, SessionsGoThroughTlsAndPasswordsAreNotOnTheNetwork) {
  const std::string password = ControlPlane()->logins()[0].password;
  TcpProxy plain(zookeeper_->port());
  ASSERT_TRUE(Use(plain.port(), "/plain").ok());
  EXPECT_THAT(plain.SentOverTheLast(), HasSubstr(password));  // so it could be seen

  const int outside = FreePort(), inside = FreePort();
  const ChildProcess server =
      Tunnel("zookeeper-server.conf", "at-server", outside, zookeeper_->port(), "server");
  TcpProxy network(outside);
  const ChildProcess client =
      Tunnel("zookeeper-client.conf", "at-client", inside, network.port(), "client");
  EXPECT_EQ(Ruok(inside), "imok") << Log("at-client") << Log("at-server");
  const absl::Status used = Use(inside, "/tls");
  ASSERT_TRUE(used.ok()) << used << Log("at-client") << Log("at-server");
  EXPECT_THAT(network.SentOverTheLast(), Not(HasSubstr(password)));
  EXPECT_THAT(network.SentOverTheLast(), Not(HasSubstr("/tls")));
}

TEST_F(StunnelTest, StrangersAreNotLetThrough) {
  MakeCa("other-ca");
  MakeCertificate("other-ca", "stranger", "sm-1.example");
  const int outside = FreePort();
  const ChildProcess server =
      Tunnel("zookeeper-server.conf", "at-server", outside, zookeeper_->port(), "server");
  // Without TLS; longer than a header of TLS, so that who expects that need not wait for more.
  EXPECT_NE(Answer(outside, "ruok\r\n"), "imok");
  const int inside = FreePort();
  const ChildProcess client =
      Tunnel("zookeeper-client.conf", "stranger-tunnel", inside, outside, "stranger");
  EXPECT_EQ(Ruok(inside), "");
  EXPECT_THAT(LogWith("at-server", "certificate verify failed"),
              HasSubstr("certificate verify failed"));
}

TEST_F(StunnelTest, AServerOfAnotherNameIsNotTalkedTo) {
  MakeCertificate("ca", "impostor", "elsewhere.example");
  const int outside = FreePort(), inside = FreePort();
  const ChildProcess server =
      Tunnel("zookeeper-server.conf", "impostor-tunnel", outside, zookeeper_->port(), "impostor");
  const ChildProcess client =
      Tunnel("zookeeper-client.conf", "at-client", inside, outside, "client");
  EXPECT_EQ(Ruok(inside), "");
  EXPECT_THAT(LogWith("at-client", "certificate verify failed"),
              HasSubstr("certificate verify failed"));
}

}  // namespace
}  // namespace shardmanager
