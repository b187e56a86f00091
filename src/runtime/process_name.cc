#include "runtime/process_name.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace shardmanager {

std::string HostName() {
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  return host;
}

std::string HostAndPid() { return absl::StrCat(HostName(), "/", getpid()); }

}  // namespace shardmanager
