#include "cli/yaml_events.h"

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
  explicit Adapter(YamlEvents& events) : events_(events) {}

 private:
  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp takes some of what it cannot read for endless empty documents.
    if (last_start_ == mark.pos) throw YAML::ParserException(mark, "unexpected text");
    last_start_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    events_.OnText(PlaceOf(mark), nullptr);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { events_.OnAlias(PlaceOf(mark)); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    events_.OnText(PlaceOf(mark), &value);
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

  void Descend(const YAML::Mark& mark, YamlEvents::Kind kind) {
    if (++depth_ > kMostNesting) throw YAML::ParserException(mark, "nested too deeply");
    events_.OnStart(PlaceOf(mark), kind);
  }
  void Ascend() {
    --depth_;
    events_.OnEnd();
  }

  YamlEvents& events_;
  size_t depth_ = 0;
  std::optional<int> last_start_;
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
    Adapter adapter(events);
    while (parser.HandleNextDocument(adapter)) next();
  } catch (const YAML::Exception& e) {
    problems->Add(PlaceOf(e.mark), absl::StrCat("this is not YAML: ", e.msg));
  } catch (const std::exception& e) {
    problems->Add({}, absl::StrCat("this is not YAML: ", e.what()));
  }
}

}  // namespace shardmanager::cli
