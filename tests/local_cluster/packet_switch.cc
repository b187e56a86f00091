#include "tests/local_cluster/packet_switch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "runtime/clock.h"

namespace shardmanager::local {
namespace {

constexpr uint64_t kStop = PacketSwitch::kMaxPorts;
constexpr size_t kMaxPacketBytes = 64 << 10;
// Packets taken from one machine before the others have their turn.
constexpr int kBurst = 64;
// IPv4: the version in the first half byte, the receiver's address at its end.
constexpr size_t kAddressEnd = 20;

void Watch(int epoll, int fd, uint64_t what) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = what}};
  SM_CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

}  // namespace

PacketSwitch::PacketSwitch(uint64_t seed)
    : epoll_(epoll_create1(EPOLL_CLOEXEC)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      links_(kMaxPorts, std::vector<Link>(kMaxPorts)),
      random_(seed) {
  Watch(epoll_, stop_, kStop);
  thread_ = std::thread([this] { Run(); });
}

PacketSwitch::~PacketSwitch() {
  eventfd_write(stop_, 1);
  thread_.join();
  for (const int tun : tuns_) close(tun);
  close(stop_);
  close(epoll_);
}

size_t PacketSwitch::Connect(int tun) {
  std::lock_guard lock(mutex_);
  SM_CHECK(tuns_.size() < kMaxPorts, "too many machines");
  tuns_.push_back(tun);
  Watch(epoll_, tun, tuns_.size() - 1);
  return tuns_.size() - 1;
}

void PacketSwitch::Set(size_t from, size_t to, const Link& link) {
  std::lock_guard lock(mutex_);
  links_[from][to] = link;
}

void PacketSwitch::Run() {
  std::vector<epoll_event> events(kMaxPorts + 1);
  while (true) {
    const int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), TimeoutMs());
    for (int i = 0; i < n; ++i) {
      if (events[i].data.u64 == kStop) return;
      Receive(events[i].data.u64);
    }
    SendDue();
  }
}

int PacketSwitch::TimeoutMs() const {
  if (delayed_.empty()) return -1;
  const auto wait =
      std::chrono::ceil<std::chrono::milliseconds>(delayed_.top().due - MonotonicNow());
  return static_cast<int>(std::max<int64_t>(wait.count(), 0));
}

void PacketSwitch::Receive(size_t from) {
  char packet[kMaxPacketBytes];
  std::lock_guard lock(mutex_);
  for (int i = 0; i < kBurst; ++i) {
    const ssize_t n = read(tuns_[from], packet, sizeof packet);
    if (n <= 0) return;
    Route(from, {packet, static_cast<size_t>(n)});
  }
}

void PacketSwitch::Route(size_t from, std::string_view packet) {
  if (packet.size() < kAddressEnd || packet[0] >> 4 != 4) return;  // IPv6's small talk
  const size_t to = static_cast<uint8_t>(packet[kAddressEnd - 1]) - size_t{1};
  if (to >= tuns_.size()) return;
  const Link& link = links_[from][to];
  if (link.cut || (link.loss > 0 && random_.Fraction() < link.loss)) return;
  if (link.delay.count() == 0) {
    // A full queue over there loses it, as real ones do.
    [[maybe_unused]] const ssize_t n = write(tuns_[to], packet.data(), packet.size());
    return;
  }
  delayed_.push({MonotonicNow() + link.delay, packets_++, to, std::string(packet)});
}

void PacketSwitch::SendDue() {
  const TimePoint now = MonotonicNow();
  std::lock_guard lock(mutex_);
  while (!delayed_.empty() && delayed_.top().due <= now) {
    const Packet& packet = delayed_.top();
    [[maybe_unused]] const ssize_t n =
        write(tuns_[packet.to], packet.bytes.data(), packet.bytes.size());
    delayed_.pop();
  }
}

}  // namespace shardmanager::local
