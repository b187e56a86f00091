// A network that lives in this process: each of its machines is a Linux network
// namespace, and the only way from one to another is a switch that delivers, delays and
// loses packets as told.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/local_cluster/packet_switch.h"

namespace shardmanager::local {

// The namespaces have no names and no links to the outside: the kernel removes them with
// the last process in them, however we end. Needs CAP_SYS_ADMIN and /dev/net/tun.
// Not thread-safe.
class Network {
 public:
  // `seed` decides which packets are lost. FAILED_PRECONDITION: this machine forbids it.
  static absl::StatusOr<std::unique_ptr<Network>> Make(uint64_t seed = 1);
  // The machine that is there from the beginning.
  static constexpr char kClients[] = "clients";
  ~Network();

  // Makes it unless it is there. Its address, and the namespace to start programs in
  // (ChildOptions::network_namespace).
  struct Machine {
    std::string address;
    int network_namespace = -1;
  };
  absl::StatusOr<Machine> Get(const std::string& name);
  std::vector<std::string> names() const;

  // From now on the calling thread, and the threads that it starts, are on that machine.
  absl::Status Enter(const std::string& name);

  // What happens to packets that `from` sends to `to`. REQUIRES: both were made.
  void SetLink(const std::string& from, const std::string& to, const Link& link);
  // Both ways between each of `some` and each of `others`.
  void SetLinks(const std::set<std::string>& some, const std::set<std::string>& others,
                const Link& link);
  // All links are whole again.
  void Heal();

 private:
  struct Port {
    size_t number = 0;
    Machine machine;
  };

  explicit Network(uint64_t seed) : switch_(seed) {}

  PacketSwitch switch_;
  std::map<std::string, Port> ports_;
};

}  // namespace shardmanager::local
