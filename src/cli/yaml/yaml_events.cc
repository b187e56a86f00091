#include "cli/yaml/yaml_events.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace shardmanager::cli {
namespace {

constexpr size_t kMostNesting = 32;

YamlPlace PlaceOf(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

class Adapter : public YAML::EventHandler {
 public:
  Adapter(YamlEvents& events, YamlProblems* problems) : events_(events), problems_(*problems) {}

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
    if (depth_ <= kMostNesting) events_.OnText(PlaceOf(mark), nullptr);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    if (depth_ <= kMostNesting) events_.OnAlias(PlaceOf(mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    if (depth_ <= kMostNesting) events_.OnText(PlaceOf(mark), &value);
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

  YamlEvents& events_;
  YamlProblems& problems_;
  size_t depth_ = 0;
  std::optional<int> last_start_;
  bool stuck_ = false;
};

// An explicit end of the document, without which yaml-cpp takes a quote that never
// closes for closed at the end of the file.
std::string WithEnd(const std::string& text) {
  const bool ends_line = !text.empty() && text.back() == '\n';
  return absl::StrCat(text, ends_line ? "" : "\n", "...\n");
}

}  // namespace

void ParseYaml(const std::string& text, YamlEvents& events, YamlProblems* problems,
               const std::function<void()>& next) {
  try {
    std::istringstream stream(WithEnd(text));
    YAML::Parser parser(stream);
    Adapter adapter(events, problems);
    while (parser.HandleNextDocument(adapter) && !adapter.stuck()) next();
  } catch (const YAML::Exception& e) {
    problems->Add(PlaceOf(e.mark), absl::StrCat("this is not YAML: ", e.msg));
  } catch (const std::exception& e) {
    problems->Add({}, absl::StrCat("this is not YAML: ", e.what()));
  }
}

}  // namespace shardmanager::cli
