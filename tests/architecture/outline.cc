#include "tests/architecture/outline.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>

#include "tests/architecture/source_tree.h"

namespace shardmanager::architecture {
namespace {

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Directives of the preprocessor, with the lines that continue them, as spaces.
std::string WithoutDirectives(std::string code) {
  bool directive = false;
  bool line_start = true;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i] == '\n') {
      directive = directive && i > 0 && code[i - 1] == '\\';
      line_start = true;
      continue;
    }
    if (line_start && code[i] == '#') directive = true;
    if (!std::isspace(static_cast<unsigned char>(code[i]))) line_start = false;
    if (directive && !(code[i] == '\\' && i + 1 < code.size() && code[i + 1] == '\n')) {
      code[i] = ' ';
    }
  }
  std::replace(code.begin(), code.end(), '\\', ' ');
  return code;
}

// Past the bracket that closes the one at `at`.
size_t PastClosing(std::string_view code, size_t at) {
  int depth = 0;
  for (size_t i = at; i < code.size(); ++i) {
    if (code[i] == '(' || code[i] == '[' || code[i] == '{') ++depth;
    if (code[i] == ')' || code[i] == ']' || code[i] == '}') --depth;
    if (depth == 0) return i + 1;
  }
  return code.size();
}

// The declaration without what is inside (), [] and {}; the brackets stay. "<...>" is removed
// entirely.
std::string Skeleton(std::string_view declaration) {
  std::string skeleton;
  int angles = 0;
  for (size_t i = 0; i < declaration.size(); ++i) {
    const char c = declaration[i];
    const bool arrow = c == '>' && i > 0 && declaration[i - 1] == '-';
    if (c == '<') ++angles;
    if (c == '>' && !arrow && angles > 0) {
      --angles;
      continue;
    }
    if (c == '(' || c == '[' || c == '{') {
      const size_t end = PastClosing(declaration, i);
      if (angles == 0) skeleton += {c, declaration[end - 1]};
      i = end - 1;
    } else if (angles == 0) {
      skeleton.push_back(std::isspace(static_cast<unsigned char>(c)) ? ' ' : c);
    }
  }
  return skeleton;
}

// The skeleton without what may stand before and after any declaration.
std::string Bare(std::string_view declaration) {
  static const std::regex noise(R"(\b(template|typename)\b|\[\]|\bABSL_\w+(\(\))?|\balignas\(\))");
  std::string bare = std::regex_replace(Skeleton(declaration), noise, " ");
  const size_t first = bare.find_first_not_of(' ');
  return first == std::string::npos ? "" : bare.substr(first);
}

// The identifier, with its scopes, that ends before `end`.
std::string NameBefore(const std::string& bare, size_t end) {
  while (end > 0 && bare[end - 1] == ' ') --end;
  size_t begin = end;
  while (begin > 0 && (IsWord(bare[begin - 1]) || bare[begin - 1] == ':' || bare[begin - 1] == '~'))
    --begin;
  return bare.substr(begin, end - begin);
}

std::string LastPart(const std::string& name) {
  const size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

// The name of the function; nothing: the declaration is not of a function.
std::optional<std::string> FunctionName(const std::string& bare) {
  static const std::regex operator_name(R"(\boperator\b[^(]*(\(\))?)");
  std::smatch match;
  if (std::regex_search(bare, match, operator_name)) return "operator";
  const size_t open = bare.find('(');
  if (open == std::string::npos || bare.find('=') < open) return std::nullopt;
  return NameBefore(bare, open);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : code_(WithoutDirectives(CodeOnly(text))) {}

  Outline Read() {
    ReadScope(0, nullptr);
    return std::move(outline_);
  }

 private:
  int LineOf(size_t at) const {
    return 1 + static_cast<int>(std::count(code_.begin(), code_.begin() + at, '\n'));
  }
  size_t SkipSpace(size_t at) const {
    while (at < code_.size() && std::isspace(static_cast<unsigned char>(code_[at]))) ++at;
    return at;
  }
  std::string_view Text(size_t from, size_t to) const {
    return std::string_view(code_).substr(from, to - from);
  }

  // The declarations from `at` on, of a namespace (`in` is null) or a class. Returns the place
  // past the closing brace.
  size_t ReadScope(size_t at, Class* in) {
    size_t start = SkipSpace(at);
    for (size_t i = start; i < code_.size();) {
      const char c = code_[i];
      if (c == '}') return i + 1;
      if (c == '(' || c == '[') {
        i = PastClosing(code_, i);
      } else if (c == '{') {
        i = ReadBlock(start, i, in);
        if (!continues_) start = i = SkipSpace(i);
      } else if (c == ';' || IsAccessLabel(start, i)) {
        if (c == ';' && in != nullptr) CountMember(Bare(Text(start, i)), *in);
        start = i = SkipSpace(i + 1);
      } else {
        ++i;
      }
    }
    return code_.size();
  }

  bool IsAccessLabel(size_t start, size_t colon) const {
    if (code_[colon] != ':') return false;
    const std::string_view head = Text(start, colon);
    return head == "public" || head == "protected" || head == "private";
  }

  // The block that opens at `open`, after the text from `start`. Sets `continues_`: the
  // declaration goes on after it.
  size_t ReadBlock(size_t start, size_t open, Class* in) {
    static const std::regex type(R"(^(?:typedef )?(class|struct|union)\b([^(=]*)$)");
    const std::string bare = Bare(Text(start, open));
    std::smatch match;
    continues_ = false;
    if (bare.starts_with("namespace") || bare.starts_with("inline namespace") ||
        bare.starts_with("extern \"")) {
      return ReadScope(open + 1, nullptr);
    }
    if (std::regex_search(bare, match, type)) return ReadClass(match[2], open, in);
    const size_t end = PastClosing(code_, open);
    const size_t next = SkipSpace(end);
    const auto function = bare.starts_with("enum") ? std::nullopt : FunctionName(bare);
    const bool initializes =
        next < code_.size() && (code_[next] == ',' || code_[next] == '{' || code_[next] == ';');
    if (!function || (initializes && code_[next] != ';')) {
      continues_ = true;
      return end;
    }
    const int line = LineOf(start);
    outline_.functions.push_back({*function, line, LineOf(end - 1) - line + 1});
    if (in != nullptr) CountMember(bare, *in);
    return end;
  }

  size_t ReadClass(const std::string& head, size_t open, Class* in) {
    static const std::regex first_name(R"(^\s*([\w:]+))");
    std::smatch match;
    const std::string name = std::regex_search(head, match, first_name) ? match[1].str() : "";
    Class found{in != nullptr ? in->name + "::" + name : name, LineOf(open)};
    const size_t end = ReadScope(open + 1, &found);
    outline_.classes.push_back(std::move(found));
    continues_ = false;
    return code_.find(';', end) + 1;
  }

  static void CountMember(const std::string& bare, Class& in) {
    static const std::regex no_member(
        R"(^(using|friend|static_assert|typedef|class|struct|enum|union)\b)");
    static const std::regex constant(R"(\b(static|constexpr)\b)");
    if (bare.empty() || std::regex_search(bare, no_member)) return;
    if (const auto function = FunctionName(bare)) {
      const bool special =
          *function == "operator" || function->starts_with('~') || *function == LastPart(in.name);
      in.methods += !special;
    } else if (!std::regex_search(bare, constant)) {
      in.fields += 1 + static_cast<int>(std::count(bare.begin(), bare.end(), ','));
    }
  }

  std::string code_;
  bool continues_ = false;
  Outline outline_;
};

}  // namespace

Outline OutlineOf(std::string_view text) { return Reader(text).Read(); }

}  // namespace shardmanager::architecture
