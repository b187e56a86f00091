// How large a thing may grow before it is several things. As rules.h: each returns what it found
// wrong, one sentence for each place.
//
// What was larger when a rule came is in tables.h (kLarge), with its size: it may shrink, not grow,
// and its row goes when it fits.
#pragma once

#include <string>
#include <vector>

#include "tests/architecture/rules.h"
#include "tests/architecture/source_tree.h"
#include "tests/architecture/tables.h"

namespace shardmanager::architecture {

using LargeTable = std::vector<Large>;

// Methods and fields of a class.
Violations CheckClassSizes(const Tree& tree, const LargeTable& large);
// Lines of a function, from its first one to its closing brace.
Violations CheckFunctionLengths(const Tree& tree, const LargeTable& large);
// Lines of code in a file: comments and empty lines do not count, so none is worth deleting.
Violations CheckFileSizes(const Tree& tree, const LargeTable& large);
// Modules in a folder: a header and its source are one, and so is a source or a proto alone.
Violations CheckFolderSizes(const Tree& tree, const LargeTable& large);

}  // namespace shardmanager::architecture
