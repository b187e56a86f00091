// Documents must speak of what exists.
#pragma once

#include <functional>
#include <string>

#include "tests/architecture/rules.h"
#include "tests/architecture/source_tree.h"

namespace shardmanager::architecture {

// All *.md files below `root`, except in folders named build or beginning with a dot.
Tree LoadDocuments(const std::filesystem::path& root);
// All *_test.cc files.
Tree LoadTests(const std::filesystem::path& root);

using Exists = std::function<bool(const std::string& path)>;  // from the repository's root

// Relative links, and paths in backticks that begin with a folder of the repository,
// lead to a file or folder.
Violations CheckDocumentPaths(const Tree& documents, const Exists& exists);

// `Some::Name` in backticks, if not of a library: the last word is somewhere in the code.
Violations CheckDocumentNames(const Tree& documents, const Tree& code);

// `SomeTest.Name` in backticks is a test; `SomeTest.*` a test suite.
Violations CheckDocumentTests(const Tree& documents, const Tree& tests);

// All *.yml files below `root`/deploy.
Tree LoadAlertRules(const std::filesystem::path& root);

// Each `alert:` of the rules has its runbook: a runbook_url that leads to the section with its name
// in one of the documents, and there is text below that heading. No section is of an alert that is
// gone.
Violations CheckRunbooks(const Tree& rules, const Tree& documents);

}  // namespace shardmanager::architecture
