// The rules themselves. Each returns what it found wrong, one sentence for each
// place, "path:line: ...", in the order of the tree; empty: the tree obeys.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/architecture/source_tree.h"

namespace shardmanager::architecture {

using Violations = std::vector<std::string>;

inline std::string At(const File& file, int line, const std::string& what) {
  return LineOf(file, line) + ": " + what;
}
inline void Append(Violations& all, const Violations& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Files that the rules for cores apply to.
std::set<std::string> PureFiles(const Tree& tree);

// Includes point downward, also between the floors of one unit; siblings never include each other.
Violations CheckIncludeDirections(const Tree& tree);
// gRPC, ZooKeeper, logging and so on stay where they belong.
Violations CheckForeignIncludes(const Tree& tree);
// Public headers and what users copy use the public headers only.
Violations CheckPublicSurface(const Tree& tree);
// Core targets link nothing that could act.
Violations CheckCoreLinks(const Tree& tree);
// A target's DEPS name what its files include.
Violations CheckDepsCoverIncludes(const Tree& tree);
Violations CheckBannedCalls(const Tree& tree);
// Every proto field has a comment; those of specs and requests say REQUIRED or
// OPTIONAL.
Violations CheckProtoComments(const Tree& tree);
Violations CheckGlossary(const Tree& tree);

}  // namespace shardmanager::architecture
