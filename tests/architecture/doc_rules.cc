#include "tests/architecture/doc_rules.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shardmanager::architecture {
namespace {

namespace fs = std::filesystem;

Tree Load(const fs::path& root, std::string_view ending) {
  Tree tree;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::end(it); ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory() && (name == "build" || name.starts_with('.'))) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file() && name.ends_with(ending)) {
      std::ostringstream text;
      text << std::ifstream(it->path()).rdbuf();
      tree.push_back({fs::relative(it->path(), root).generic_string(), text.str()});
    }
  }
  std::sort(tree.begin(), tree.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return tree;
}

// Calls f(line number, first group) for each match.
template <typename F>
void ForEachMatch(const File& file, const std::regex& pattern, F f) {
  int number = 0;
  for (std::string_view view : Lines(file.text)) {
    ++number;
    const std::string line(view);
    for (std::sregex_iterator it(line.begin(), line.end(), pattern), end; it != end; ++it) {
      f(number, (*it)[1].str());
    }
  }
}

std::string Resolve(const File& document, const std::string& link) {
  const fs::path folder(std::string(FolderOf(document.path)));
  return (folder / link).lexically_normal().generic_string();
}

// Headings that are alerts' names, "docs/a.md#shardmanagerx", with whether there is text below
// them.
std::map<std::string, bool> AlertSections(const Tree& documents) {
  static const std::regex heading(R"(^#+ (ShardManager\w+)$)");
  std::map<std::string, bool> sections;
  for (const File& document : documents) {
    std::string current;
    for (std::string_view view : Lines(document.text)) {
      const std::string line(view);
      std::smatch match;
      if (std::regex_match(line, match, heading)) {
        current = absl::StrCat(document.path, "#", absl::AsciiStrToLower(match[1].str()));
        sections[current] = false;
      } else if (line.starts_with('#')) {
        current.clear();
      } else if (!current.empty() && !line.empty()) {
        sections[current] = true;
      }
    }
  }
  return sections;
}

}  // namespace

Tree LoadDocuments(const fs::path& root) { return Load(root, ".md"); }
Tree LoadAlertRules(const fs::path& root) { return Load(root / "deploy", ".yml"); }
Tree LoadTests(const fs::path& root) { return Load(root / "tests", "_test.cc"); }

Violations CheckDocumentPaths(const Tree& documents, const Exists& exists) {
  static const std::regex link(R"(\]\(([^)#:\s]+)(?:#[^)]*)?\))");
  // A path in backticks. One with a wildcard or a placeholder is not checked.
  static const std::regex code(
      R"(`((?:src|include|proto|tests|examples|docs|deploy|scripts|bench|cmake)/[\w./-]*)[^`]*`)");
  Violations found;
  for (const File& document : documents) {
    const auto complain = [&](int line, const std::string& path) {
      found.push_back(absl::StrCat(document.path, ":", line, ": ", path, " does not exist"));
    };
    ForEachMatch(document, link, [&](int line, const std::string& target) {
      if (!exists(Resolve(document, target))) complain(line, target);
    });
    ForEachMatch(document, code, [&](int line, const std::string& path) {
      const bool cut = path.ends_with('_') || path.ends_with('.');  // `src/wire/discovery_*`
      if (!cut && !exists(path)) complain(line, path);
    });
  }
  return found;
}

Violations CheckDocumentNames(const Tree& documents, const Tree& code) {
  static const std::regex mention(R"(`(?!absl::|grpc::|std::)\w+(?:::\w+)*::(\w+)(?:\(\))?`)");
  static const std::regex word(R"((\w+))");
  std::set<std::string> known;
  for (const File& file : code) {
    ForEachMatch(file, word, [&](int, const std::string& found) { known.insert(found); });
  }
  Violations violations;
  for (const File& document : documents) {
    ForEachMatch(document, mention, [&](int line, const std::string& name) {
      if (known.contains(name)) return;
      violations.push_back(absl::StrCat(document.path, ":", line, ": no code says ", name));
    });
  }
  return violations;
}

Violations CheckDocumentTests(const Tree& documents, const Tree& tests) {
  static const std::regex declaration(R"(^\w*TEST(?:_F|_P)?\((\w+, *\w+)\))");
  static const std::regex mention(R"(`(\w+Test\.(?:\w+|\*))`)");
  std::set<std::string> known;
  for (const File& file : tests) {
    ForEachMatch(file, declaration, [&](int, const std::string& test) {
      const size_t comma = test.find(',');
      const std::string suite = test.substr(0, comma);
      known.insert(absl::StrCat(suite, ".", test.substr(test.find_first_not_of(" ,", comma))));
      known.insert(absl::StrCat(suite, ".*"));
    });
  }
  Violations found;
  for (const File& document : documents) {
    ForEachMatch(document, mention, [&](int line, const std::string& test) {
      if (known.contains(test)) return;
      found.push_back(absl::StrCat(document.path, ":", line, ": there is no test ", test));
    });
  }
  return found;
}

Violations CheckRunbooks(const Tree& rules, const Tree& documents) {
  static const std::regex alert(R"(^ *- alert: *(\S+))");
  static const std::regex url(R"re(^ *runbook_url: *"(\S+)")re");
  std::map<std::string, bool> sections = AlertSections(documents);
  std::set<std::string> gone;
  for (const auto& [section, text] : sections) gone.insert(section);
  Violations found;
  for (const File& file : rules) {
    std::map<std::string, std::string> runbooks;  // by alert
    std::string current;
    for (std::string_view view : Lines(file.text)) {
      const std::string line(view);
      std::smatch match;
      if (std::regex_search(line, match, alert)) runbooks[current = match[1].str()];
      if (std::regex_search(line, match, url)) runbooks[current] = match[1].str();
    }
    for (const auto& [name, runbook] : runbooks) {
      const bool named = absl::EndsWith(runbook, absl::StrCat("#", absl::AsciiStrToLower(name)));
      const auto section = sections.find(runbook);
      if (named && section != sections.end() && section->second) {
        gone.erase(runbook);
        continue;
      }
      found.push_back(absl::StrCat(file.path, ": ", name, " has no runbook at \"", runbook, "\""));
    }
  }
  for (const std::string& section : gone) {
    found.push_back(absl::StrCat(section, ": no alert with this name has its runbook there"));
  }
  return found;
}

}  // namespace shardmanager::architecture
