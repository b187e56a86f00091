#include "runtime/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace shardmanager {
namespace {

MetricFamily Gauge1(const char* name, const char* help, double value) {
  return {.name = name, .help = help, .samples = {{{}, value}}};
}

// The fields of /proc/self/stat behind the command's name, which may contain blanks; proc(5).
std::vector<std::string> StatFields() {
  std::ifstream file("/proc/self/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t name_ends = text.rfind(')');
  if (name_ends == std::string::npos) return {};
  std::istringstream rest(text.substr(name_ends + 1));
  return {std::istream_iterator<std::string>(rest), std::istream_iterator<std::string>()};
}

// Seconds since 1970; 0: unknown.
double BootTime() {
  std::ifstream file("/proc/stat");
  std::string word;
  while (file >> word) {
    double seconds = 0;
    if (word == "btime" && file >> seconds) return seconds;
  }
  return 0;
}

size_t OpenFiles() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  size_t count = 0;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count < 3 ? 0 : count - 3;  // ".", ".." and the folder itself
}

}  // namespace

std::vector<MetricFamily> ProcessMetrics() {
  // Positions behind the name, as in proc(5) less 3.
  constexpr size_t kUserTicks = 11, kSystemTicks = 12, kThreads = 17, kStart = 19, kVirtual = 20,
                   kResident = 21;
  std::vector<MetricFamily> all;
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (const std::vector<std::string> stat = StatFields(); stat.size() > kResident) {
    const auto field = [&](size_t i) { return std::strtod(stat[i].c_str(), nullptr); };
    all.push_back({.name = "process_cpu_seconds_total",
                   .help = "Total user and system CPU time spent in seconds.",
                   .is_counter = true,
                   .samples = {{{}, (field(kUserTicks) + field(kSystemTicks)) / ticks}}});
    all.push_back(
        Gauge1("process_threads", "Number of OS threads in the process.", field(kThreads)));
    if (const double boot = BootTime(); boot > 0) {
      all.push_back(Gauge1("process_start_time_seconds",
                           "Start time of the process since unix epoch in seconds.",
                           boot + field(kStart) / ticks));
    }
    all.push_back(
        Gauge1("process_virtual_memory_bytes", "Virtual memory size in bytes.", field(kVirtual)));
    all.push_back(Gauge1("process_resident_memory_bytes", "Resident memory size in bytes.",
                         field(kResident) * static_cast<double>(sysconf(_SC_PAGESIZE))));
  }
  all.push_back(Gauge1("process_open_fds", "Number of open file descriptors.",
                       static_cast<double>(OpenFiles())));
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    all.push_back(Gauge1("process_max_fds", "Maximum number of open file descriptors.",
                         static_cast<double>(limit.rlim_cur)));
  }
  return all;
}

}  // namespace shardmanager
