#include "cli/yaml/yaml_events.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shardmanager::cli {
namespace {

constexpr size_t kMostNesting = 32;

YamlPlace PlaceOf(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

// yaml-cpp says "?" of a plain text without a tag, and "!" of one in quotes.
std::string TagOf(const std::string& tag) {
  const std::string standard = "tag:yaml.org,2002:";
  if (tag == "?" || tag == "!") return "";
  return absl::StartsWith(tag, standard) ? absl::StrCat("!!", tag.substr(standard.size())) : tag;
}

// `rest` begins with a text in double quotes. The same text, in which each escape \xHH of a byte
// that is not ASCII has one more backslash; nothing: there is none.
std::optional<std::string> WithBytesKept(std::string_view rest) {
  constexpr std::string_view kHigh = "89abcdefABCDEF";
  std::string kept = "\"";
  bool any = false;
  for (size_t i = 1; i < rest.size() && rest[i] != '"'; ++i) {
    if (rest[i] == '\\') {
      const bool byte = rest.substr(i + 1, 1) == "x" && i + 2 < rest.size() &&
                        kHigh.find(rest[i + 2]) != std::string_view::npos;
      any |= byte;
      if (byte) kept += '\\';
      kept += rest[i++];
    }
    if (i < rest.size()) kept += rest[i];
  }
  if (!any) return std::nullopt;
  return kept + "\"";
}

// The value of the one text in `yaml`.
class OneText : public YamlEvents {
 public:
  static std::string Of(const std::string& yaml, YamlProblems* problems) {
    OneText text;
    ParseYaml(yaml, text, problems, [] {});
    return text.value_;
  }

 private:
  void OnText(YamlPlace, const YamlScalar& scalar) override { value_ = *scalar.text; }
  void OnAlias(YamlPlace) override {}
  void OnStart(YamlPlace, Kind) override {}
  void OnEnd() override {}

  std::string value_;
};

class Adapter : public YAML::EventHandler {
 public:
  Adapter(std::string_view text, YamlEvents& events, YamlProblems* problems)
      : text_(text), events_(events), problems_(*problems) {}

  // The parser stands still: yaml-cpp takes some of what it cannot read for endless
  // empty documents.
  bool stuck() const { return stuck_; }

 private:
  void OnDocumentStart(const YAML::Mark& mark) override {
    stuck_ = last_start_ == mark.pos;
    last_start_ = mark.pos;
    if (stuck_) problems_.Add(PlaceOf(mark), "this is not YAML: unexpected text");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    if (depth_ <= kMostNesting) events_.OnText(PlaceOf(mark), {});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    if (depth_ <= kMostNesting) events_.OnAlias(PlaceOf(mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    if (depth_ > kMostNesting) return;
    const bool quoted = tag == "!";
    events_.OnText(PlaceOf(mark), {.text = &value,
                                   .tag = TagOf(tag),
                                   .plain = tag == "?",
                                   .key = quoted ? KeyAt(mark, value) : value});
  }

  // (Before the quotes, an anchor may stand.)
  std::string KeyAt(const YAML::Mark& mark, const std::string& value) const {
    const size_t quote = text_.find_first_of("\"'", static_cast<size_t>(mark.pos));
    if (quote == std::string_view::npos || text_[quote] != '"') return value;
    const auto kept = WithBytesKept(text_.substr(quote));
    return kept ? OneText::Of(*kept, &problems_) : value;
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Descend(mark, YamlEvents::Kind::kList);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Descend(mark, YamlEvents::Kind::kFields);
  }
  void OnSequenceEnd() override { Ascend(); }
  void OnMapEnd() override { Ascend(); }

  // Past the bound, nothing is passed on.
  void Descend(const YAML::Mark& mark, YamlEvents::Kind kind) {
    if (++depth_ <= kMostNesting) return events_.OnStart(PlaceOf(mark), kind);
    if (depth_ > kMostNesting + 1) return;
    problems_.Add(PlaceOf(mark), absl::StrCat("found more than ", kMostNesting,
                                              " levels of nesting; allowed: fewer"));
  }
  void Ascend() {
    if (depth_-- <= kMostNesting) events_.OnEnd();
  }

  const std::string_view text_;
  YamlEvents& events_;
  YamlProblems& problems_;
  size_t depth_ = 0;
  std::optional<int> last_start_;
  bool stuck_ = false;
};

// An explicit end of the document, without which yaml-cpp takes a quote that never
// closes for closed at the end of the file. (yaml-cpp does not count a byte order mark.)
std::string WithEnd(std::string text) {
  if (absl::StartsWith(text, "\xef\xbb\xbf")) text.erase(0, 3);
  const bool ends_line = !text.empty() && text.back() == '\n';
  return absl::StrCat(text, ends_line ? "" : "\n", "...\n");
}

}  // namespace

void ParseYaml(const std::string& text, YamlEvents& events, YamlProblems* problems,
               const std::function<void()>& next) {
  try {
    const std::string whole = WithEnd(text);
    std::istringstream stream(whole);
    YAML::Parser parser(stream);
    Adapter adapter(whole, events, problems);
    while (parser.HandleNextDocument(adapter) && !adapter.stuck()) next();
  } catch (const YAML::Exception& e) {
    problems->Add(PlaceOf(e.mark), absl::StrCat("this is not YAML: ", e.msg));
  } catch (const std::exception& e) {
    problems->Add({}, absl::StrCat("this is not YAML: ", e.what()));
  }
}

}  // namespace shardmanager::cli
