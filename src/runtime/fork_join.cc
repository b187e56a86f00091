#include "runtime/fork_join.h"

#include <thread>
#include <vector>

namespace shardmanager {

void ForkJoin(std::span<const std::function<void()>> work) {
  if (work.empty()) return;
  std::vector<std::jthread> threads;
  threads.reserve(work.size() - 1);
  for (const auto& job : work.subspan(1)) threads.emplace_back(job);
  work.front()();
}

}  // namespace shardmanager
