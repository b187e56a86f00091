#include "tests/architecture/rules.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/architecture/tables.h"

namespace shardmanager::architecture {
namespace {

// `prefix` is the path itself or one of its folders.
bool Within(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

bool InPureFolder(std::string_view path) {
  return std::any_of(kPureFolders.begin(), kPureFolders.end(),
                     [&](std::string_view folder) { return Within(path, folder); });
}

bool IsUserCode(std::string_view path) {
  return std::any_of(kUserCode.begin(), kUserCode.end(),
                     [&](std::string_view folder) { return Within(path, folder); });
}

bool IsCoreTarget(const Target& target) {
  return target.name.starts_with("sm_") && target.name.ends_with("_core");
}

// The tree, with the indexes that most rules need.
class IndexedTree {
 public:
  explicit IndexedTree(const Tree& tree) : targets_(Targets(tree)) {
    for (const File& file : tree) files_[file.path] = &file;
    for (const Target& target : targets_) {
      if (!IsCoreTarget(target)) continue;
      for (const std::string& source : target.sources) AddCore(source, target.folder);
    }
  }

  const std::vector<Target>& targets() const { return targets_; }
  const std::set<std::string>& core_files() const { return core_; }

  const File* Find(const std::string& path) const {
    auto it = files_.find(path);
    return it == files_.end() ? nullptr : it->second;
  }

  // The path of a header of ours; "" for a generated or foreign one.
  std::string Resolve(const std::string& header) const {
    for (const char* root : {"src/", "include/", ""}) {
      if (files_.contains(root + header)) return root + header;
    }
    return "";
  }

  struct Place {
    std::string unit;
    int rank;
  };
  // Nothing: the table of layers does not know the path.
  std::optional<Place> PlaceOf(const std::string& path) const {
    const Layer* best = nullptr;
    for (const Layer& layer : kLayers) {
      if (Within(path, layer.unit) && (!best || layer.unit.size() > best->unit.size())) {
        best = &layer;
      }
    }
    if (!best) return std::nullopt;
    if (core_.contains(path))
      return Place{absl::StrCat(std::string(best->unit), " core"), kCoreRank};
    for (const PublicHeader& row : kPublicHeaders) {
      if (row.header == path) return Place{std::string(row.unit), best->rank};
    }
    return Place{std::string(best->unit), best->rank};
  }

 private:
  void AddCore(const std::string& path, const std::string& folder) {
    const File* file = Find(path);
    if (!file || !Within(path, folder) || InPureFolder(path) || !core_.insert(path).second) return;
    for (const Include& include : Includes(*file)) AddCore(Resolve(include.header), folder);
  }

  std::vector<Target> targets_;
  std::map<std::string, const File*> files_;
  std::set<std::string> core_;
};

// Of proto/; examples have contracts of their own.
bool IsGenerated(std::string_view header) {
  return header.starts_with("shardmanager/v1/") && header.ends_with(".pb.h");
}
bool IsService(std::string_view header) {
  return IsGenerated(header) && header.ends_with(".grpc.pb.h");
}

std::string WhyNot(const IndexedTree::Place& from, const IndexedTree::Place& to) {
  if (from.unit == to.unit || to.rank < from.rank) return "";
  const bool siblings = to.rank == from.rank;
  return absl::StrCat(from.unit, " must not include ", to.unit,
                      siblings ? ": they are siblings" : ": includes point downward");
}

// Which floor of the unit the path is on, from 0 at the bottom; -1: on none.
int FloorOf(const Floors& floors, std::string_view path) {
  for (size_t i = 0; i < floors.from_the_bottom.size(); ++i) {
    if (Within(path, absl::StrCat(std::string(floors.unit), "/",
                                  std::string(floors.from_the_bottom[i])))) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

// Empty: the include is allowed, as far as floors go.
std::string WhyNotUpstairs(std::string_view from, std::string_view to) {
  for (const Floors& floors : kFloors) {
    const int below = FloorOf(floors, from);
    const int above = FloorOf(floors, to);
    if (below < 0 || above <= below) continue;
    return absl::StrCat(std::string(FolderOf(from)), " must not include ",
                        std::string(FolderOf(to)), ", which is on a higher floor");
  }
  return "";
}

// In a unit that has floors, and on none of them.
bool HasNoFloor(std::string_view path) {
  return std::any_of(kFloors.begin(), kFloors.end(), [&](const Floors& floors) {
    return Within(path, floors.unit) && FloorOf(floors, path) < 0;
  });
}

bool IsExempt(std::string_view path, std::string_view found) {
  return std::any_of(kExempt.begin(), kExempt.end(),
                     [&](const Exempt& row) { return row.path == path && row.found == found; });
}

template <typename Table>
Violations FindBanned(const File& file, const Table& table, std::string_view where) {
  static std::map<std::string_view, std::regex> compiled;
  Violations found;
  const std::string code = CodeOnly(file.text);
  int number = 0;
  for (std::string_view line : Lines(code)) {
    ++number;
    for (const Banned& row : table) {
      auto it = compiled.try_emplace(row.pattern, std::string(row.pattern)).first;
      std::match_results<std::string_view::const_iterator> match;
      if (!std::regex_search(line.begin(), line.end(), match, it->second)) continue;
      if (IsExempt(file.path, match.str())) continue;
      found.push_back(At(file, number,
                         absl::StrCat("\"", match.str(), "\" is banned in ", std::string(where),
                                      "; instead: ", std::string(row.instead))));
    }
  }
  return found;
}

// Lower-case words of an identifier or sentence, without a plural s.
std::vector<std::string> WordsOf(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  auto finish = [&] {
    if (word.size() > 1 && word.back() == 's') word.pop_back();
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (size_t i = 0; i < line.size(); ++i) {
    const unsigned char c = line[i];
    const bool hump =
        std::isupper(c) && i > 0 && !std::isupper(static_cast<unsigned char>(line[i - 1]));
    if (!std::isalpha(c) || hump) finish();
    if (std::isalpha(c)) word.push_back(static_cast<char>(std::tolower(c)));
  }
  finish();
  return words;
}

bool AllowedHere(std::string_view path, std::string_view word) {
  return std::any_of(kAllowedWords.begin(), kAllowedWords.end(), [&](const AllowedWord& row) {
    return path.starts_with(row.path) && row.word == word;
  });
}

// Names of the targets that `target` may use: itself and everything that it links,
// directly or not.
std::set<std::string> Closure(const Target& target, const std::vector<Target>& targets) {
  std::set<std::string> closure{target.name};
  std::vector<std::string> todo = target.deps;
  while (!todo.empty()) {
    const std::string name = todo.back();
    todo.pop_back();
    if (!closure.insert(name).second) continue;
    for (const Target& other : targets) {
      if (other.name == name) todo.insert(todo.end(), other.deps.begin(), other.deps.end());
    }
  }
  if (closure.contains("sm_grpc")) closure.insert("sm_proto");
  return closure;
}

// Targets of which any one gives the right to include the header; empty: no rule.
std::vector<std::string> OwnersOf(const std::string& header, const IndexedTree& indexed) {
  if (IsService(header)) return {"sm_grpc"};
  if (IsGenerated(header)) return {"sm_proto"};
  const std::string path = indexed.Resolve(header);
  if (!path.starts_with("src/")) return {};
  const std::string source = absl::StrCat(std::string(WithoutExtension(path)), ".cc");
  std::vector<std::string> owners, neighbours;
  for (const Target& target : indexed.targets()) {
    const auto& sources = target.sources;
    if (std::find(sources.begin(), sources.end(), source) != sources.end()) {
      owners.push_back(target.name);
    }
    if (Within(path, target.folder)) neighbours.push_back(target.name);
  }
  return owners.empty() ? neighbours : owners;
}

class ProtoReader {
 public:
  explicit ProtoReader(const File& file) : file_(file) {}

  Violations Check() {
    for (std::string_view line : Lines(file_.text)) {
      ++number_;
      Read(std::string(line));
    }
    return std::move(found_);
  }

 private:
  void Read(const std::string& line) {
    static const std::regex opens(R"(^\s*(message|enum|oneof|service)\s+(\w+)\s*\{)");
    static const std::regex field(
        R"(^\s*(?:(?:repeated|optional)\s+)?(?:map<[^>]*>|[\w.]+)\s+(\w+)\s*=\s*\d+.*?;(.*))");
    std::smatch match;
    const size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos && line.compare(first, 2, "//") == 0) {
      comment_ += line;
      return;
    }
    if (std::regex_search(line, match, opens)) {
      if (line.find('}') == std::string::npos) scopes_.push_back({match[1], match[2]});
    } else if (first != std::string::npos && line[first] == '}') {
      if (!scopes_.empty()) scopes_.pop_back();
    } else if (InMessage() && std::regex_search(line, match, field)) {
      CheckField(match[1], comment_ + match[2].str());
    }
    comment_.clear();
  }

  void CheckField(const std::string& name, const std::string& comment) {
    if (comment.find("//") == std::string::npos) {
      found_.push_back(At(file_, number_, absl::StrCat("field ", name, " has no comment")));
    } else if (MustSayRequired() && comment.find("REQUIRED") == std::string::npos &&
               comment.find("OPTIONAL") == std::string::npos) {
      found_.push_back(
          At(file_, number_, absl::StrCat("field ", name, " says neither REQUIRED nor OPTIONAL")));
    }
  }

  bool InMessage() const {
    return !scopes_.empty() && (scopes_.back().kind == "message" || scopes_.back().kind == "oneof");
  }
  bool MustSayRequired() const {
    return scopes_.back().kind == "message" &&
           (file_.path.ends_with("app_spec.proto") || scopes_.back().name.ends_with("Request"));
  }

  struct Scope {
    std::string kind, name;
  };
  const File& file_;
  int number_ = 0;
  std::vector<Scope> scopes_;
  std::string comment_;
  Violations found_;
};

}  // namespace

std::set<std::string> PureFiles(const Tree& tree) {
  std::set<std::string> pure = IndexedTree(tree).core_files();
  for (const File& file : tree) {
    if (IsCpp(file.path) && InPureFolder(file.path)) pure.insert(file.path);
  }
  return pure;
}

Violations CheckIncludeDirections(const Tree& tree) {
  const IndexedTree indexed(tree);
  Violations found;
  for (const File& file : tree) {
    if (!IsCpp(file.path) || !Within(file.path, "src")) continue;
    const auto from = indexed.PlaceOf(file.path);
    if (!from) {
      found.push_back(At(file, 1, "no layer: add its folder to tests/architecture/tables.h"));
      continue;
    }
    if (HasNoFloor(file.path)) {
      found.push_back(At(file, 1, "no floor: add its folder to kFloors in tables.h"));
    }
    for (const Include& include : Includes(file)) {
      const std::string path = indexed.Resolve(include.header);
      const auto to = indexed.PlaceOf(path);
      std::string why = to ? WhyNot(*from, *to) : "";
      if (why.empty()) why = WhyNotUpstairs(file.path, path);
      if (!why.empty()) found.push_back(At(file, include.line, why));
    }
  }
  return found;
}

Violations CheckForeignIncludes(const Tree& tree) {
  const IndexedTree indexed(tree);
  Violations found;
  for (const File& file : tree) {
    const auto place = indexed.PlaceOf(file.path);
    if (!IsCpp(file.path) || !place) continue;
    for (const Include& include : Includes(file)) {
      if (IsService(include.header) && place->rank < 80) {
        found.push_back(At(file, include.line, "gRPC begins at src/wire"));
      }
      for (const Foreign& row : kForeign) {
        if (!include.header.starts_with(row.prefix) || place->rank >= row.lowest_rank) continue;
        if (!row.also.empty() && file.path.starts_with(row.also)) continue;
        found.push_back(
            At(file, include.line, absl::StrCat(include.header, ": ", std::string(row.reason))));
      }
    }
  }
  return found;
}

Violations CheckPublicSurface(const Tree& tree) {
  const IndexedTree indexed(tree);
  Violations found;
  for (const File& file : tree) {
    if (!IsCpp(file.path)) continue;
    if (!IsUserCode(file.path)) continue;
    for (const Include& include : Includes(file)) {
      if (!Within(indexed.Resolve(include.header), "src")) continue;
      found.push_back(At(file, include.line,
                         absl::StrCat(include.header, " is not public: users have include/ only")));
    }
  }
  return found;
}

Violations CheckCoreLinks(const Tree& tree) {
  Violations found;
  for (const Target& target : Targets(tree)) {
    if (!IsCoreTarget(target) && !InPureFolder(target.folder)) continue;
    for (const std::string& dep : target.deps) {
      const bool allowed = dep.starts_with("absl::") ||
                           std::find(kPureDeps.begin(), kPureDeps.end(), dep) != kPureDeps.end();
      if (allowed) continue;
      found.push_back(absl::StrCat(
          target.folder, "/CMakeLists.txt: ", target.name, " must not link ", dep,
          "; allowed: absl::*, ",
          absl::StrJoin(kPureDeps.begin(), kPureDeps.end(), ", ",
                        [](std::string* out, std::string_view dep) { out->append(dep); })));
    }
  }
  return found;
}

Violations CheckDepsCoverIncludes(const Tree& tree) {
  const IndexedTree indexed(tree);
  Violations found;
  for (const Target& target : indexed.targets()) {
    const std::set<std::string> closure = Closure(target, indexed.targets());
    for (const std::string& source : target.sources) {
      const std::string stem(WithoutExtension(source));
      for (const std::string& path : {source, stem + ".h"}) {
        const File* file = indexed.Find(path);
        if (!file) continue;
        for (const Include& include : Includes(*file)) {
          const auto owners = OwnersOf(include.header, indexed);
          if (owners.empty()) continue;
          if (std::any_of(owners.begin(), owners.end(),
                          [&](const std::string& owner) { return closure.contains(owner); })) {
            continue;
          }
          found.push_back(At(*file, include.line,
                             absl::StrCat(include.header, " is of ", absl::StrJoin(owners, " or "),
                                          ", which the DEPS of ", target.name, " do not name")));
        }
      }
    }
  }
  return found;
}

Violations CheckBannedCalls(const Tree& tree) {
  const std::set<std::string> pure = PureFiles(tree);
  Violations found;
  for (const File& file : tree) {
    if (!IsCpp(file.path)) continue;
    if (pure.contains(file.path)) Append(found, FindBanned(file, kBannedInCores, "cores"));
    if (Within(file.path, "src") || IsUserCode(file.path)) {
      Append(found, FindBanned(file, kBannedEverywhere, "this code"));
    }
  }
  return found;
}

Violations CheckProtoComments(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    if (Within(file.path, "proto") && file.path.ends_with(".proto")) {
      Append(found, ProtoReader(file).Check());
    }
  }
  return found;
}

Violations CheckGlossary(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    if (!IsCpp(file.path) && !file.path.ends_with(".proto")) continue;
    int number = 0;
    for (std::string_view line : Lines(file.text)) {
      ++number;
      for (const std::string& word : WordsOf(line)) {
        for (const NeverWord& row : kNeverWords) {
          if (word != row.word || AllowedHere(file.path, word)) continue;
          found.push_back(
              At(file, number,
                 absl::StrCat("\"", word, "\": the glossary says ", std::string(row.instead))));
        }
      }
    }
  }
  return found;
}

}  // namespace shardmanager::architecture
