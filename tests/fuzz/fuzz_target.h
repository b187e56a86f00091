// How a fuzz target is written:
//
//   SM_FUZZ_TARGET(live_name) { ... use `input`; SM_CHECK what must hold ... }
//
// One target a file, named as the file. Built by clang with libFuzzer it is a program
// of its own (`scripts/fuzz live_name`); built as a test, all targets are in one
// program that replays the seeds of tests/fuzz/corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/check.h"
#include "tests/fuzz/fuzz_input.h"

namespace shardmanager::fuzz {

using Target = void (*)(FuzzInput& input);

// All targets of this program, by name.
inline std::map<std::string, Target>& Targets() {
  static std::map<std::string, Target> targets;
  return targets;
}

struct Registration {
  Registration(const char* name, Target target) { Targets()[name] = target; }
};

}  // namespace shardmanager::fuzz

#ifdef SM_LIBFUZZER
#define SM_FUZZ_ENTRY(name)                                                           \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {           \
    shardmanager::fuzz::FuzzInput input({reinterpret_cast<const char*>(data), size}); \
    Fuzz_##name(input);                                                               \
    return 0;                                                                         \
  }
#else
#define SM_FUZZ_ENTRY(name) \
  static const shardmanager::fuzz::Registration registration_##name(#name, Fuzz_##name);
#endif

#define SM_FUZZ_TARGET(name)                                     \
  static void Fuzz_##name(shardmanager::fuzz::FuzzInput& input); \
  SM_FUZZ_ENTRY(name)                                            \
  static void Fuzz_##name([[maybe_unused]] shardmanager::fuzz::FuzzInput& input)
