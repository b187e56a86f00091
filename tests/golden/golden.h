// Text that is kept beside a test and must not change unnoticed. `scripts/record` writes it anew;
// the difference is reviewed like any other change.
#pragma once

#include <string>

namespace shardmanager {

// Fails the test if the file, a path from the root of the sources, does not hold exactly `text`;
// says in which line they first differ. Under `scripts/record` (SM_RECORD=1): writes the file.
void ExpectGolden(const std::string& path, const std::string& text);

}  // namespace shardmanager
