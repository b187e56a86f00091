#include "cli/yaml/yaml_to_proto.h"

#include <functional>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/suggest.h"
#include "cli/yaml/field_value.h"
#include "cli/yaml/yaml_events.h"
#include "cli/yaml/yaml_problems.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

class MessageReader : public YamlEvents {
 public:
  MessageReader(const Message& prototype, YamlProblems* problems)
      : prototype_(prototype), problems_(*problems), root_(prototype.New()) {}

  // Is told where each document, field and item of a list begins.
  std::function<void(const std::string& path, YamlPlace place)> on_begin;

  // The document that ended, null if it was empty; gets ready for the next.
  std::unique_ptr<Message> Take() {
    std::unique_ptr<Message> message(prototype_.New());
    message.swap(root_);
    return std::exchange(empty_, true) ? nullptr : std::move(message);
  }

 private:
  // A list or a set of fields that is open. `message` is null if it is passed over,
  // for it stands where it must not.
  struct Frame {
    Kind kind;
    Message* message = nullptr;
    // kList: the list. kFields: whose value comes next, or came last; null: unknown.
    const FieldDescriptor* field = nullptr;
    bool value_next = false;  // kFields: a name was read
    YamlPlace name;           // kFields: where
    int items = 0;            // kList
    absl::flat_hash_set<int> seen;
  };

  // What the next node is for.
  struct Slot {
    enum Kind { kDocument, kName, kValue, kItem, kPassOver };
    Kind kind;
    const FieldDescriptor* field = nullptr;
  };

  Slot TakeSlot() {
    if (frames_.empty()) return {Slot::kDocument};
    Frame& top = frames_.back();
    if (top.message == nullptr) return {Slot::kPassOver};
    if (top.kind == Kind::kList) {
      ++top.items;
      return {Slot::kItem, top.field};
    }
    if (!top.value_next) return {Slot::kName};
    top.value_next = false;
    return top.field == nullptr ? Slot{Slot::kPassOver} : Slot{Slot::kValue, top.field};
  }

  void OnText(YamlPlace place, const YamlScalar& scalar) override {
    const std::string* text = scalar.text;
    const Slot slot = TakeSlot();
    TellOf(slot, place);
    switch (slot.kind) {
      case Slot::kPassOver:
        return;
      case Slot::kName:
        return OnName(place, text == nullptr ? "null" : *text);
      case Slot::kDocument:
        if (text == nullptr) return;  // an empty document
        empty_ = false;
        return WrongKind(place, slot, Quoted(*text));
      case Slot::kValue:
      case Slot::kItem:
        return OnValue(place, slot, scalar);
    }
  }

  void TellOf(const Slot& slot, YamlPlace place) {
    const bool begins = slot.kind == Slot::kDocument || slot.kind == Slot::kItem;
    if (begins && on_begin) on_begin(Path(), place);
  }

  void OnValue(YamlPlace place, const Slot& slot, const YamlScalar& scalar) {
    const std::string* text = scalar.text;
    const bool is_list = slot.kind == Slot::kValue && slot.field->is_repeated();
    const bool is_message = slot.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    // "placement:" with all its fields commented out is as good as absent.
    if (text == nullptr && slot.kind == Slot::kValue && (is_list || is_message)) return;
    const std::string found = text == nullptr ? "nothing" : FoundText(*slot.field, scalar);
    // yaml-cpp places what is not there on the line that comes after it.
    if (text == nullptr && slot.kind == Slot::kValue) place = frames_.back().name;
    if (text == nullptr || is_list || is_message ||
        !PutScalar(*frames_.back().message, *slot.field, scalar)) {
      WrongKind(place, slot, found);
    }
  }

  void OnAlias(YamlPlace place) override {
    if (TakeSlot().kind == Slot::kName) SkipValue();
    empty_ = false;
    problems_.AddField(place, Path(), "an alias", "the value itself, written out");
  }

  void OnStart(YamlPlace place, Kind kind) override {
    const Slot slot = TakeSlot();
    TellOf(slot, place);
    empty_ = false;
    Frame frame{.kind = kind};
    const bool fits =
        slot.kind == Slot::kDocument || slot.kind == Slot::kValue || slot.kind == Slot::kItem
            ? Open(slot, &frame)
            : false;
    if (slot.kind == Slot::kName) SkipValue();
    if (!fits && slot.kind != Slot::kPassOver) {
      WrongKind(place, slot, kind == Kind::kList ? "a list" : "fields");
    }
    frames_.push_back(std::move(frame));
  }

  void OnEnd() override {
    const Frame& top = frames_.back();
    if (top.kind == Kind::kList && top.message != nullptr && top.items == 0) NoteEmptyList(top);
    frames_.pop_back();
  }

  // Where "goals: []" means something else than no "goals", the message has a field "no_goals".
  static void NoteEmptyList(const Frame& list) {
    const FieldDescriptor* none =
        list.message->GetDescriptor()->FindFieldByName(absl::StrCat("no_", list.field->name()));
    if (none == nullptr || none->cpp_type() != FieldDescriptor::CPPTYPE_BOOL) return;
    list.message->GetReflection()->SetBool(list.message, none, true);
  }

  // Points the frame to what it fills. False: such a thing must not stand here.
  bool Open(const Slot& slot, Frame* frame) {
    if (slot.kind == Slot::kDocument) {
      if (frame->kind == Kind::kFields) frame->message = root_.get();
      return frame->message != nullptr;
    }
    if (slot.field == nullptr) return false;
    Message* parent = frames_.back().message;
    if (slot.field->is_map()) return false;
    if (slot.kind == Slot::kValue && slot.field->is_repeated()) {
      if (frame->kind != Kind::kList) return false;
      frame->message = parent;
      frame->field = slot.field;
      return true;
    }
    if (frame->kind != Kind::kFields ||
        slot.field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      return false;
    }
    const auto& access = *parent->GetReflection();
    frame->message = slot.kind == Slot::kItem ? access.AddMessage(parent, slot.field)
                                              : access.MutableMessage(parent, slot.field);
    return true;
  }

  void OnName(YamlPlace place, const std::string& name) {
    Frame& top = frames_.back();
    const auto& type = *top.message->GetDescriptor();
    top.value_next = true;
    top.name = place;
    top.field = type.FindFieldByName(name);
    if (top.field == nullptr) {
      const std::string meant = Suggest(name, FieldNames(type));
      problems_.AddField(
          place, Path(),
          absl::StrCat("unknown field ", Quoted(name),
                       meant.empty() ? "" : absl::StrCat(" (did you mean \"", meant, "\"?)")),
          absl::StrJoin(FieldNames(type), ", "));
    } else if (!top.seen.insert(top.field->number()).second) {
      problems_.AddField(place, Path(), "the field a second time", "each field once");
      top.field = nullptr;
    }
    if (top.field != nullptr && on_begin) on_begin(Path(), place);
  }

  // The next value belongs to a name that is none.
  void SkipValue() {
    frames_.back().field = nullptr;
    frames_.back().value_next = true;
  }

  void WrongKind(YamlPlace place, const Slot& slot, const std::string& found) {
    std::string allowed;
    if (slot.kind == Slot::kName || slot.kind == Slot::kDocument) {
      const auto& type = slot.kind == Slot::kName ? *frames_.back().message->GetDescriptor()
                                                  : *prototype_.GetDescriptor();
      allowed = absl::StrCat("fields (", absl::StrJoin(FieldNames(type), ", "), ")");
    } else if (slot.field->is_map()) {
      allowed = "nothing: this field cannot be written in YAML";
    } else {
      const bool is_list = slot.kind == Slot::kValue && slot.field->is_repeated();
      allowed = absl::StrCat(is_list ? "a list of " : "", AllowedValues(*slot.field));
    }
    problems_.AddField(place, Path(), found, allowed);
  }

  // Of the node at hand. Example: "key_space.shards[3].id".
  std::string Path() const {
    std::string path;
    for (const Frame& frame : frames_) {
      if (frame.message == nullptr) break;
      if (frame.kind == Kind::kList) {
        absl::StrAppend(&path, "[", frame.items - 1, "]");
      } else if (frame.field != nullptr) {
        absl::StrAppend(&path, path.empty() ? "" : ".", frame.field->name());
      }
    }
    return path;
  }

  const Message& prototype_;
  YamlProblems& problems_;
  std::unique_ptr<Message> root_;
  bool empty_ = true;
  std::vector<Frame> frames_;
};

// `path` is that of the field `around`, or of a field in it.
bool IsWithin(const std::string& path, const std::string& around) {
  if (path.compare(0, around.size(), around) != 0) return false;
  return around.empty() || path.size() == around.size() || path[around.size()] == '.' ||
         path[around.size()] == '[';
}

// --- Before the parser sees it ---------------------------------------------------

YamlPlace PlaceAt(const std::string& text, size_t offset) {
  YamlPlace place;
  for (size_t i = 0; i < offset; ++i) {
    place.column = text[i] == '\n' ? 1 : place.column + 1;
    place.line += text[i] == '\n' ? 1 : 0;
  }
  return place;
}

// yaml-cpp replaces what is not UTF-8; in a split point that would move keys.
bool Readable(const std::string& text, YamlProblems* problems) {
  if (text.size() > kMostYamlBytes) {
    problems->Add({},
                  absl::StrCat("found ", text.size(), " bytes; allowed: at most ", kMostYamlBytes));
    return false;
  }
  const size_t valid = ValidUtf8Bytes(text);
  if (valid == text.size()) return true;
  problems->Add(PlaceAt(text, valid), "found a byte that is not UTF-8; allowed: UTF-8");
  return false;
}

}  // namespace

absl::StatusOr<std::vector<YamlDocument>> ReadYaml(const std::string& text, const std::string& file,
                                                   const Message& prototype) {
  YamlProblems problems(file);
  std::vector<YamlDocument> documents;
  if (Readable(text, &problems)) {
    MessageReader reader(prototype, &problems);
    size_t index = 0;
    ParseYaml(text, reader, &problems, [&] {
      if (auto message = reader.Take()) documents.push_back({std::move(message), index});
      ++index;
    });
  }
  if (documents.empty() && problems.empty()) {
    problems.AddField({}, "", "no document", "at least one");
  }
  if (!problems.empty()) return problems.ToStatus();
  return documents;
}

std::vector<std::string> LocateFields(const std::string& text, const std::string& file,
                                      const Message& prototype, size_t document,
                                      const std::vector<std::string>& paths) {
  struct Found {
    size_t path_bytes;
    YamlPlace place;
  };
  std::vector<std::optional<Found>> found(paths.size());
  size_t index = 0;
  YamlProblems none(file);
  MessageReader reader(prototype, &none);
  reader.on_begin = [&](const std::string& path, YamlPlace place) {
    if (index != document) return;
    for (size_t i = 0; i < paths.size(); ++i) {
      const bool longer = !found[i].has_value() || path.size() > found[i]->path_bytes;
      if (longer && IsWithin(paths[i], path)) found[i] = {path.size(), place};
    }
  };
  ParseYaml(text, reader, &none, [&] {
    reader.Take();
    ++index;
  });
  std::vector<std::string> located;
  for (const auto& best : found) {
    located.push_back(PlaceText(file, best.has_value() ? best->place : YamlPlace()));
  }
  return located;
}

std::string WithPlaces(const std::string& message, const std::string& text, const std::string& file,
                       const Message& prototype, size_t document) {
  const std::vector<std::string> lines = absl::StrSplit(message, '\n');
  std::vector<std::string> paths;
  for (const std::string& line : lines) paths.push_back(line.substr(0, line.find(": found ")));
  const auto places = LocateFields(text, file, prototype, document, paths);
  std::string located;
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool names_field = paths[i].size() < lines[i].size();
    absl::StrAppend(&located, names_field ? places[i] : file, ": ", Printable(lines[i]), "\n");
  }
  return located;
}

}  // namespace shardmanager::cli
