#include "tests/architecture/size_rules.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/architecture/outline.h"

namespace shardmanager::architecture {
namespace {

struct Measured {
  std::string place;  // LineOf()
  std::string name;   // "src/server/shards/shard_book.h ShardBook"
  int size = 0;
};

// The rule for one measure, "methods" for example, of which `most` are allowed.
Violations Judge(const std::vector<Measured>& all, const std::string& measure, int most,
                 const std::string& question, const LargeTable& large) {
  Violations found;
  std::set<std::string> used;
  for (const Measured& each : all) {
    if (each.size <= most) continue;
    const auto row = std::find_if(large.begin(), large.end(), [&](const Large& row) {
      return row.name == each.name && row.measure == measure;
    });
    if (row != large.end()) {
      used.insert(each.name);
      if (each.size == row->size) continue;
      found.push_back(absl::StrCat(
          each.place, ": ", each.size, " ", measure, ", and tables.h has it with ", row->size,
          each.size < row->size ? ": write the smaller number there" : ": it may not grow"));
      continue;
    }
    found.push_back(absl::StrCat(each.place, ": ", each.name, " has ", each.size, " ", measure,
                                 ", more than ", most, ": ", question));
  }
  for (const Large& row : large) {
    if (row.measure != measure || used.contains(std::string(row.name))) continue;
    found.push_back(absl::StrCat("tests/architecture/tables.h: ", std::string(row.name),
                                 " has no more than ", most, " ", measure, " now: delete its row"));
  }
  return found;
}

}  // namespace

Violations CheckClassSizes(const Tree& tree, const LargeTable& large) {
  std::vector<Measured> methods, fields;
  for (const File& file : tree) {
    if (!IsCpp(file.path)) continue;
    for (const Class& found : OutlineOf(file.text).classes) {
      const std::string name = absl::StrCat(file.path, " ", found.name);
      methods.push_back({LineOf(file, found.line), name, found.methods});
      fields.push_back({LineOf(file, found.line), name, found.fields});
    }
  }
  const std::string question = "which classes are in it?";
  Violations found = Judge(methods, "methods", kMostMethodsPerClass, question, large);
  Append(found, Judge(fields, "fields", kMostFieldsPerClass, question, large));
  return found;
}

Violations CheckFunctionLengths(const Tree& tree, const LargeTable& large) {
  std::vector<Measured> lengths;
  for (const File& file : tree) {
    if (!IsCpp(file.path)) continue;
    for (const Function& found : OutlineOf(file.text).functions) {
      lengths.push_back(
          {LineOf(file, found.line), absl::StrCat(file.path, " ", found.name), found.lines});
    }
  }
  return Judge(lengths, "lines", kMostLinesPerFunction, "which steps are in it?", large);
}

Violations CheckFileSizes(const Tree& tree, const LargeTable& large) {
  std::vector<Measured> sizes;
  for (const File& file : tree) {
    if (!IsCpp(file.path)) continue;
    const std::string code = CodeOnly(file.text);
    const auto lines = Lines(code);
    const auto size = std::count_if(lines.begin(), lines.end(), [](std::string_view line) {
      return line.find_first_not_of(' ') != std::string_view::npos;
    });
    sizes.push_back(
        {LineOf(file, static_cast<int>(lines.size())), file.path, static_cast<int>(size)});
  }
  return Judge(sizes, "lines of code", kMostCodeLinesPerFile, "which ideas are in it?", large);
}

Violations CheckFolderSizes(const Tree& tree, const LargeTable& large) {
  std::map<std::string, std::set<std::string>> folders;
  for (const File& file : tree) {
    if (!IsCpp(file.path) && !file.path.ends_with(".proto")) continue;
    folders[std::string(FolderOf(file.path))].insert(std::string(WithoutExtension(file.path)));
  }
  std::vector<Measured> sizes;
  for (const auto& [folder, modules] : folders) {
    sizes.push_back({folder, folder, static_cast<int>(modules.size())});
  }
  return Judge(sizes, "modules", kMostModulesPerFolder, "which rooms are in it?", large);
}

}  // namespace shardmanager::architecture
