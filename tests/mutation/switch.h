// The switch of a mutant, at run time. scripts/mutate puts it into each place that it has chosen.
//
// SM_MUTANT is the number of the mutant that is active; without it none is. SM_MUTANT_REACHED names
// a file with a byte for each number, which becomes 1 when a process comes to the place. All
// processes of a test share the file in memory, so nothing is lost when one of them is killed.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <type_traits>

namespace sm_mutate {

inline constexpr int kMostMutants = 1 << 16;

struct Switches {
  int active = -1;
  std::atomic<char>* reached = nullptr;
};

inline Switches ReadEnvironment() {
  static std::atomic<char> nobody_looks[kMostMutants];
  Switches switches{-1, nobody_looks};
  if (const char* active = std::getenv("SM_MUTANT")) switches.active = std::atoi(active);
  const char* name = std::getenv("SM_MUTANT_REACHED");
  const int file = name != nullptr ? open(name, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return switches;
  void* memory = mmap(nullptr, kMostMutants, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) switches.reached = static_cast<std::atomic<char>*>(memory);
  close(file);
  return switches;
}

// True while the mutant is active.
inline bool On(int mutant) {
  static const Switches switches = ReadEnvironment();
  std::atomic<char>& reached = switches.reached[mutant];
  if (reached.load(std::memory_order_relaxed) == 0) reached.store(1, std::memory_order_relaxed);
  return mutant == switches.active;
}

// The same in a constexpr function. What the compiler computes is never mutated.
constexpr bool OnAtRunTime(int mutant) {
  if (std::is_constant_evaluated()) return false;
  return On(mutant);
}

}  // namespace sm_mutate
