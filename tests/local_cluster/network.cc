#include "tests/local_cluster/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"

namespace shardmanager::local {
namespace {

constexpr char kDevice[] = "eth0";
constexpr char kSubnet[] = "10.77.0.";  // means something in our namespaces only
constexpr char kNetmask[] = "255.255.255.0";
// Large packets: the switch does not have to handle so many.
constexpr int kMtuBytes = 9'000;

absl::Status Forbidden(const char* what) {
  return absl::FailedPreconditionError(absl::StrCat(what, ": ", strerror(errno)));
}

// The settings of one network device, of the namespace that the thread is in.
class Device {
 public:
  explicit Device(const char* name) : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    strncpy(request_.ifr_name, name, IFNAMSIZ - 1);
  }
  ~Device() { close(fd_); }

  bool SetAddress(unsigned long command, const std::string& address) {
    sockaddr_in value{};
    value.sin_family = AF_INET;
    inet_pton(AF_INET, address.c_str(), &value.sin_addr);
    memcpy(&request_.ifr_addr, &value, sizeof value);
    return ioctl(fd_, command, &request_) == 0;
  }
  bool SetMtu(int bytes) {
    request_.ifr_mtu = bytes;
    return ioctl(fd_, SIOCSIFMTU, &request_) == 0;
  }
  bool Up() {
    if (ioctl(fd_, SIOCGIFFLAGS, &request_) != 0) return false;
    request_.ifr_flags |= IFF_UP;
    return ioctl(fd_, SIOCSIFFLAGS, &request_) == 0;
  }

 private:
  const int fd_;
  ifreq request_{};
};

absl::StatusOr<int> OpenTun() {
  const int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (tun < 0) return Forbidden("/dev/net/tun");
  ifreq request{};
  strncpy(request.ifr_name, kDevice, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (ioctl(tun, TUNSETIFF, &request) == 0) return tun;
  const absl::Status refused = Forbidden("a TUN device");
  close(tun);
  return refused;
}

struct Files {
  int tun = -1;
  int network_namespace = -1;
};

// Leaves the calling thread in the new namespace.
absl::StatusOr<Files> MakeNamespace(const std::string& address) {
  if (unshare(CLONE_NEWNET) != 0) return Forbidden("a new network namespace");
  if (!Device("lo").Up()) return Forbidden("lo");
  const absl::StatusOr<int> tun = OpenTun();
  if (!tun.ok()) return tun.status();
  Device device(kDevice);
  const bool set = device.SetAddress(SIOCSIFADDR, address) &&
                   device.SetAddress(SIOCSIFNETMASK, kNetmask) && device.SetMtu(kMtuBytes) &&
                   device.Up();
  const int self = set ? open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC) : -1;
  if (self >= 0) return Files{*tun, self};
  const absl::Status refused = Forbidden(kDevice);
  close(*tun);
  return refused;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> Network::Make(uint64_t seed) {
  std::unique_ptr<Network> network(new Network(seed));
  // The first machine shows whether there can be any.
  if (const auto first = network->Get(kClients); !first.ok()) return first.status();
  return network;
}

Network::~Network() {
  for (const auto& [name, port] : ports_) close(port.machine.network_namespace);
}

absl::StatusOr<Network::Machine> Network::Get(const std::string& name) {
  if (const auto known = ports_.find(name); known != ports_.end()) return known->second.machine;
  const std::string address = absl::StrCat(kSubnet, ports_.size() + 1);
  absl::StatusOr<Files> files;
  // In a thread that ends, so that none of ours changes its namespace.
  std::thread([&] { files = MakeNamespace(address); }).join();
  if (!files.ok()) return files.status();
  const size_t number = switch_.Connect(files->tun);
  const Port port{number, {address, files->network_namespace}};
  return ports_.emplace(name, port).first->second.machine;
}

std::vector<std::string> Network::names() const {
  std::vector<std::string> names;
  for (const auto& [name, port] : ports_) names.push_back(name);
  return names;
}

absl::Status Network::Enter(const std::string& name) {
  const absl::StatusOr<Machine> machine = Get(name);
  if (!machine.ok()) return machine.status();
  if (setns(machine->network_namespace, CLONE_NEWNET) == 0) return absl::OkStatus();
  return Forbidden("setns");
}

void Network::SetLink(const std::string& from, const std::string& to, const Link& link) {
  switch_.Set(ports_.at(from).number, ports_.at(to).number, link);
}

void Network::SetLinks(const std::set<std::string>& some, const std::set<std::string>& others,
                       const Link& link) {
  for (const std::string& one : some) {
    for (const std::string& other : others) {
      if (one == other) continue;
      SetLink(one, other, link);
      SetLink(other, one, link);
    }
  }
}

void Network::Heal() {
  for (const auto& [from, one] : ports_) {
    for (const auto& [to, other] : ports_) SetLink(from, to, {});
  }
}

}  // namespace shardmanager::local
