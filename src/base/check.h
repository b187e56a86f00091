// For invariants: a broken one ends the process, as going on would do harm.
// Operating errors are absl::Status instead.
#pragma once

#include <cstdio>
#include <cstdlib>

#define SM_CHECK(condition, why)                                                          \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: broken invariant: %s (%s)\n", __FILE__, __LINE__, why, \
                   #condition);                                                           \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)
