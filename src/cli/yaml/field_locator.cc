// Where the fields of a YAML text stand.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/yaml/yaml_events.h"
#include "cli/yaml/yaml_problems.h"
#include "cli/yaml/yaml_to_proto.h"

namespace shardmanager::cli {
namespace {

class FieldLocator : public YamlEvents {
 public:
  // `places` has the same size as `paths`, and gets the best place seen so far.
  FieldLocator(size_t document, const std::vector<std::string>& paths,
               std::vector<YamlPlace>* places)
      : document_(document), paths_(paths), places_(*places), matched_(paths.size()) {}

  void NextDocument() { ++current_; }

 private:
  struct Frame {
    Kind kind;
    size_t path_bytes;  // of the path to this list or these fields
    bool value_next = false;
    int items = 0;
  };

  void OnText(YamlPlace place, const std::string* text) override {
    if (!frames_.empty() && frames_.back().kind == Kind::kFields && !frames_.back().value_next) {
      OnName(place, text == nullptr ? "null" : *text);
    } else {
      Enter(place);
    }
  }
  void OnAlias(YamlPlace place) override { OnText(place, nullptr); }
  void OnStart(YamlPlace place, Kind kind) override {
    Enter(place);
    frames_.push_back({kind, path_.size()});
  }
  void OnEnd() override { frames_.pop_back(); }

  void OnName(YamlPlace place, const std::string& name) {
    Frame& top = frames_.back();
    top.value_next = true;
    path_.resize(top.path_bytes);
    absl::StrAppend(&path_, path_.empty() ? "" : ".", name);
    Match(place);
  }

  // A value begins: of the name that was read, or of a list's next item.
  void Enter(YamlPlace place) {
    if (frames_.empty()) {
      path_.clear();
      return Match(place);
    }
    Frame& top = frames_.back();
    top.value_next = false;
    if (top.kind != Kind::kList) return;
    path_.resize(top.path_bytes);
    absl::StrAppend(&path_, "[", top.items++, "]");
    Match(place);
  }

  void Match(YamlPlace place) {
    if (current_ != document_) return;
    for (size_t i = 0; i < paths_.size(); ++i) {
      const std::string& wanted = paths_[i];
      const bool around = wanted.compare(0, path_.size(), path_) == 0 &&
                          (wanted.size() == path_.size() || path_.empty() ||
                           wanted[path_.size()] == '.' || wanted[path_.size()] == '[');
      // The longest path wins; of equals the first, which is the name's place.
      if (!around || (matched_[i].has_value() && *matched_[i] >= path_.size())) continue;
      matched_[i] = path_.size();
      places_[i] = place;
    }
  }

  const size_t document_;
  const std::vector<std::string>& paths_;
  std::vector<YamlPlace>& places_;
  std::vector<std::optional<size_t>> matched_;
  size_t current_ = 0;
  std::string path_;
  std::vector<Frame> frames_;
};

}  // namespace

std::vector<std::string> LocateFields(const std::string& text, const std::string& file,
                                      size_t document, const std::vector<std::string>& paths) {
  std::vector<YamlPlace> places(paths.size());
  FieldLocator locator(document, paths, &places);
  YamlProblems none(file);
  ParseYaml(text, locator, &none, [&] { locator.NextDocument(); });
  std::vector<std::string> located;
  for (const YamlPlace place : places) located.push_back(PlaceText(file, place));
  return located;
}

}  // namespace shardmanager::cli
