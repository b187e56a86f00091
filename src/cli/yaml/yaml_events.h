// yaml-cpp's events with less of yaml-cpp in them. Internal to the YAML reader.
#pragma once

#include <functional>
#include <string>

#include "cli/yaml/yaml_problems.h"

namespace shardmanager::cli {

struct YamlScalar {
  // Null for YAML's null (an absent value, "~", "null").
  const std::string* text = nullptr;
  // "!hex", "!!binary"; empty: none.
  std::string tag;
  bool plain = false;  // not in quotes
  // `text` in the text form of keys (model/keys/key_text.h): YAML takes "\x80" in double quotes for
  // the character U+0080, which has two bytes, and who wrote a key meant one.
  std::string key;
};

// Every node of a text, in order.
class YamlEvents {
 public:
  enum class Kind { kFields, kList };

  virtual ~YamlEvents() = default;
  virtual void OnText(YamlPlace place, const YamlScalar& scalar) = 0;
  virtual void OnAlias(YamlPlace place) = 0;
  // A list or a set of fields opens, and closes. Names and values of fields take turns.
  virtual void OnStart(YamlPlace place, Kind kind) = 0;
  virtual void OnEnd() = 0;
};

// Feeds all documents to `events` and calls `next` after each one, until the end or
// the first syntax error. Nothing runs away: nesting is bounded, and a parser that
// stands still is stopped. yaml-cpp's exceptions end here.
void ParseYaml(const std::string& text, YamlEvents& events, YamlProblems* problems,
               const std::function<void()>& next);

}  // namespace shardmanager::cli
