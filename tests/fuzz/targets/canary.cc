// Must fail, and soon: a fuzzer that finds nothing here is not looking. The four bytes
// are too many for chance; only one that is guided by coverage gets there.
#include "tests/fuzz/fuzz_target.h"

SM_FUZZ_TARGET(canary) {
  if (input.Byte() != 'L') return;
  if (input.Byte() != 'O') return;
  if (input.Byte() != 'S') return;
  SM_CHECK(input.Byte() != 'T', "the canary sings, as it must");
}
