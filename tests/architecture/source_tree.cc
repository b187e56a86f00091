#include "tests/architecture/source_tree.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace shardmanager::architecture {
namespace {

namespace fs = std::filesystem;

bool Interesting(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".h" || extension == ".cc" || extension == ".proto" ||
         path.filename() == "CMakeLists.txt";
}

std::string Read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void Blank(std::string& text, size_t from, size_t to) {
  for (size_t i = from; i < std::min(to, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

// Past the end of the literal whose opening quote is at `at`.
size_t EndOfLiteral(std::string_view text, size_t at) {
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[at] || text[i] == '\n') {
      return i + 1;
    }
  }
  return text.size();
}

// A raw string, R"tag(...)tag", whose quote is at `at`.
size_t EndOfRawString(std::string_view text, size_t at) {
  const size_t open = text.find('(', at);
  if (open == std::string_view::npos) return text.size();
  const std::string close = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
  const size_t end = text.find(close, open);
  return end == std::string_view::npos ? text.size() : end + close.size();
}

bool IsDigitSeparator(std::string_view text, size_t at) {
  return text[at] == '\'' && at > 0 && std::isxdigit(static_cast<unsigned char>(text[at - 1]));
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

Target ParseTarget(const std::string& name, const std::string& folder, const std::string& rest) {
  Target target{name, folder, {}, {}};
  std::vector<std::string>* list = nullptr;
  for (const std::string& word : Words(rest)) {
    if (word == "SOURCES") {
      list = &target.sources;
    } else if (word == "DEPS") {
      list = &target.deps;
    } else if (list == &target.sources) {
      list->push_back(folder + "/" + word);
    } else if (list != nullptr) {
      list->push_back(word);
    }
  }
  return target;
}

}  // namespace

Tree LoadTree(const fs::path& root, const std::vector<std::string>& folders) {
  Tree tree;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || !Interesting(entry.path())) continue;
      tree.push_back({fs::relative(entry.path(), root).generic_string(), Read(entry.path())});
    }
  }
  std::sort(tree.begin(), tree.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return tree;
}

std::string CodeOnly(std::string_view text) {
  std::string code(text);
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (text.substr(i, 2) == "//") {
      end = std::min(text.find('\n', i), text.size());
      Blank(code, i, end);
    } else if (text.substr(i, 2) == "/*") {
      const size_t close = text.find("*/", i + 2);
      end = close == std::string_view::npos ? text.size() : close + 2;
      Blank(code, i, end);
    } else if (text[i] == '"' && i > 0 && text[i - 1] == 'R') {
      end = EndOfRawString(text, i);
      Blank(code, i + 1, end - 1);
    } else if (text[i] == '"' || (text[i] == '\'' && !IsDigitSeparator(text, i))) {
      end = EndOfLiteral(text, i);
      Blank(code, i + 1, end - 1);
    }
    i = end;
  }
  return code;
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string LineOf(const File& file, int line) { return absl::StrCat(file.path, ":", line); }

std::vector<Include> Includes(const File& file) {
  static const std::regex pattern(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  std::vector<Include> includes;
  int number = 0;
  for (std::string_view line : Lines(file.text)) {
    ++number;
    std::match_results<std::string_view::const_iterator> match;
    if (std::regex_search(line.begin(), line.end(), match, pattern)) {
      includes.push_back({number, match[1].str()});
    }
  }
  return includes;
}

bool IsHeader(std::string_view path) { return path.ends_with(".h"); }
bool IsCpp(std::string_view path) { return IsHeader(path) || path.ends_with(".cc"); }

std::string_view FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view WithoutExtension(std::string_view path) { return path.substr(0, path.rfind('.')); }

std::vector<Target> Targets(const Tree& tree) {
  static const std::regex comment("#[^\n]*");
  static const std::regex call(
      R"((sm_library|sm_binary|sm_bench)\s*\(\s*([A-Za-z0-9_]+)([^)]*)\))");
  std::vector<Target> targets;
  for (const File& file : tree) {
    if (!file.path.ends_with("CMakeLists.txt")) continue;
    const std::string text = std::regex_replace(file.text, comment, "");
    for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it) {
      targets.push_back(ParseTarget((*it)[2], std::string(FolderOf(file.path)), (*it)[3]));
    }
  }
  return targets;
}

}  // namespace shardmanager::architecture
