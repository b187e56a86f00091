// Pieces of work side by side.
#pragma once

#include <functional>
#include <span>

namespace shardmanager {

// Does all of them, each but the first on a thread of its own, and returns when all are done.
void ForkJoin(std::span<const std::function<void()>> work);

}  // namespace shardmanager
