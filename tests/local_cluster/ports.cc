#include "tests/local_cluster/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>

#include "base/check.h"
#include "base/random.h"

namespace shardmanager::local {
namespace {

// Below the range of Linux's ip_local_port_range, above the well-known ones.
constexpr int kFirst = 12'000;
constexpr int kCount = 20'000;

bool IsFree(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return free;
}

}  // namespace

int StablePort() {
  // Clusters side by side begin at different places. None is given out twice: it may be long before
  // somebody listens there.
  static Random random(static_cast<uint64_t>(getpid()));
  static std::set<int> given;
  for (int i = 0; i < kCount; ++i) {
    const int port = kFirst + static_cast<int>(random.Below(kCount));
    if (IsFree(port) && given.insert(port).second) return port;
  }
  SM_CHECK(false, "no free TCP port");
  return -1;
}

}  // namespace shardmanager::local
