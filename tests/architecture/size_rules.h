// Limits on the size of classes, functions, files and folders. Like the rules in rules.h, each
// function returns one sentence for each violation.
//
// Code that exceeded a limit when the limit was introduced is listed with its size in kLarge
// (tables.h). It may shrink but not grow; its row is deleted once it is within the limit.
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
// Lines of code in a file: comments and empty lines do not count, so deleting comments does not
// help.
Violations CheckFileSizes(const Tree& tree, const LargeTable& large);
// Modules in a folder: a header and its source are one, and so is a source or a proto alone.
Violations CheckFolderSizes(const Tree& tree, const LargeTable& large);

}  // namespace shardmanager::architecture
