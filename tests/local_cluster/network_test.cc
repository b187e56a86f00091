#include "tests/local_cluster/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/clock.h"

namespace shardmanager::local {
namespace {

using std::chrono_literals::operator""ms;

constexpr int kPort = 7'000;
// What does not come within this does not come: packets take much less than a millisecond.
constexpr std::chrono::milliseconds kNever{300};
constexpr std::chrono::milliseconds kPatience{20'000};

sockaddr_in Address(const std::string& host) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

// A UDP socket on a machine. It stays there whoever uses it.
class Mailbox {
 public:
  Mailbox(Network& network, const std::string& machine) : host_(network.Get(machine)->address) {
    std::thread([&] {
      EXPECT_TRUE(network.Enter(machine).ok());
      fd_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
      const sockaddr_in own = Address(host_);
      EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    }).join();
  }
  ~Mailbox() { close(fd_); }

  void Send(const Mailbox& to, const std::string& text) const {
    const sockaddr_in there = Address(to.host_);
    EXPECT_EQ(sendto(fd_, text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&there),
                     sizeof there),
              static_cast<ssize_t>(text.size()));
  }
  // Empty: nothing came in time.
  std::string Receive(std::chrono::milliseconds timeout) const {
    const timeval limit{.tv_sec = timeout.count() / 1'000,
                        .tv_usec = timeout.count() % 1'000 * 1'000};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char text[100];
    const ssize_t n = recv(fd_, text, sizeof text, 0);
    return n < 0 ? "" : std::string(text, static_cast<size_t>(n));
  }

 private:
  const std::string host_;
  int fd_ = -1;
};

class NetworkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto network = Network::Make();
    if (absl::IsFailedPrecondition(network.status())) {
      GTEST_SKIP() << "this machine forbids network namespaces: " << network.status();
    }
    ASSERT_TRUE(network.ok()) << network.status();
    network_ = *std::move(network);
    a_ = std::make_unique<Mailbox>(*network_, "a");
    b_ = std::make_unique<Mailbox>(*network_, "b");
  }

  std::unique_ptr<Network> network_;
  std::unique_ptr<Mailbox> a_, b_;
};

TEST_F(NetworkTest, CarriesPacketsBetweenMachines) {
  a_->Send(*b_, "there");
  EXPECT_EQ(b_->Receive(kPatience), "there");
  b_->Send(*a_, "and back");
  EXPECT_EQ(a_->Receive(kPatience), "and back");
}

TEST_F(NetworkTest, CutsOneWayOnly) {
  network_->SetLink("a", "b", {.cut = true});
  a_->Send(*b_, "lost");
  b_->Send(*a_, "back");
  EXPECT_EQ(a_->Receive(kPatience), "back");
  EXPECT_EQ(b_->Receive(kNever), "");
  network_->Heal();
  a_->Send(*b_, "healed");
  EXPECT_EQ(b_->Receive(kPatience), "healed");
}

TEST_F(NetworkTest, CutsSomeMachinesOffFromOthersBothWays) {
  const Mailbox c(*network_, "c");
  network_->SetLinks({"a"}, {"a", "b"}, {.cut = true});
  a_->Send(*b_, "lost");
  b_->Send(*a_, "lost, too");
  EXPECT_EQ(b_->Receive(kNever), "");
  EXPECT_EQ(a_->Receive(kNever), "");
  a_->Send(c, "another way");
  EXPECT_EQ(c.Receive(kPatience), "another way");
}

TEST_F(NetworkTest, DelaysPacketsAndKeepsTheirOrder) {
  network_->SetLink("a", "b", {.delay = 100ms});
  const TimePoint sent = MonotonicNow();
  a_->Send(*b_, "first");
  a_->Send(*b_, "second");
  EXPECT_EQ(b_->Receive(kPatience), "first");
  EXPECT_GE(MonotonicNow() - sent, 100ms);
  EXPECT_EQ(b_->Receive(kPatience), "second");
}

TEST_F(NetworkTest, LosesAShareOfThePackets) {
  constexpr int kPackets = 100;
  network_->SetLink("a", "b", {.loss = 0.5});  // no healing before the switch has seen all
  for (int i = 0; i < kPackets; ++i) a_->Send(*b_, "maybe");
  int received = 0;
  for (auto wait = kPatience; b_->Receive(wait) == "maybe"; wait = kNever) ++received;
  EXPECT_GT(received, kPackets / 5);
  EXPECT_LT(received, kPackets * 4 / 5);
}

}  // namespace
}  // namespace shardmanager::local
