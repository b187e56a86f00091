#include "cli/yaml/proto_to_text.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// --- YAML ------------------------------------------------------------------------

// Would any YAML reader take the plain text for something else than text? (YAML 1.1
// has many words for true and false.) When in doubt, quoted.
bool MeansSomethingElse(const std::string& text) {
  static constexpr std::array<std::string_view, 10> kWords = {
      "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan"};
  const std::string lower = absl::AsciiStrToLower(text);
  // Numbers, dates, versions: whatever starts like a number.
  const bool number = absl::ascii_isdigit(static_cast<unsigned char>(text[0]));
  return number || std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
}

bool IsPlainYaml(const std::string& text) {
  const auto plain = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
  };
  return !text.empty() && absl::ascii_isalnum(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), plain) && !MeansSomethingElse(text);
}

std::string YamlString(const std::string& text) {
  if (IsPlainYaml(text)) return text;
  std::string quoted = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", std::string(1, text[i]));
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(&quoted, "\\x%02x", c);
    } else if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
      // U+0080 to U+009F: some are line breaks to YAML, all are controls to terminals.
      absl::StrAppendFormat(&quoted, "\\x%02x", next);
      ++i;
    } else {
      quoted += text[i];
    }
  }
  return quoted + "\"";
}

// In the text form of keys. Between single quotes, YAML has no escapes of its own.
std::string YamlKey(const std::string& key) {
  const std::string text = Escaped(key);
  if (text.find('\\') == std::string::npos) return YamlString(text);
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

// Shortest text that reads back as the same number.
template <typename Float>
std::string FloatText(Float value) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end);
  if (text.find("nan") != std::string::npos) return ".nan";
  if (text == "inf") return ".inf";
  if (text == "-inf") return "-.inf";
  return text;
}

std::string EnumText(const FieldDescriptor& field, int number) {
  return EnumLabel(*field.enum_type(), number);
}

// `index` counts for repeated fields only.
std::string ScalarText(const Message& message, const FieldDescriptor& field, int index) {
  const auto& access = *message.GetReflection();
#define SM_GET(TYPE)                                                      \
  (field.is_repeated() ? access.GetRepeated##TYPE(message, &field, index) \
                       : access.Get##TYPE(message, &field))
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return field.type() == FieldDescriptor::TYPE_BYTES ? YamlKey(SM_GET(String))
                                                         : YamlString(SM_GET(String));
    case FieldDescriptor::CPPTYPE_BOOL:
      return SM_GET(Bool) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(SM_GET(UInt32));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(SM_GET(UInt64));
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(SM_GET(Int32));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(SM_GET(Int64));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return FloatText(SM_GET(Double));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return FloatText(SM_GET(Float));
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumText(field, SM_GET(EnumValue));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
#undef SM_GET
  return "";
}

class YamlWriter {
 public:
  std::string Take() { return std::move(out_); }

  // `first` comes before the first field ("- " in a list), `indent` before the others.
  void WriteFields(const Message& message, const std::string& first, const std::string& indent) {
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    if (fields.empty()) absl::StrAppend(&out_, first, "{}\n");
    for (size_t i = 0; i < fields.size(); ++i) {
      absl::StrAppend(&out_, i == 0 ? first : indent, fields[i]->name(), ":");
      WriteValue(message, *fields[i], indent);
    }
  }

 private:
  static bool IsMessage(const FieldDescriptor& field) {
    return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  }

  void WriteValue(const Message& message, const FieldDescriptor& field, const std::string& indent) {
    if (field.is_repeated()) {
      WriteList(message, field, indent);
    } else if (IsMessage(field)) {
      const Message& value = message.GetReflection()->GetMessage(message, &field);
      std::vector<const FieldDescriptor*> fields;
      value.GetReflection()->ListFields(value, &fields);
      out_ += fields.empty() ? " " : "\n";
      WriteFields(value, fields.empty() ? "" : indent + "  ", indent + "  ");
    } else {
      absl::StrAppend(&out_, " ", ScalarText(message, field, 0), "\n");
    }
  }

  void WriteList(const Message& message, const FieldDescriptor& field, const std::string& indent) {
    const auto& access = *message.GetReflection();
    out_ += "\n";
    for (int i = 0; i < access.FieldSize(message, &field); ++i) {
      if (IsMessage(field)) {
        WriteFields(access.GetRepeatedMessage(message, &field, i), indent + "  - ",
                    indent + "    ");
      } else {
        absl::StrAppend(&out_, indent, "  - ", ScalarText(message, field, i), "\n");
      }
    }
  }

  std::string out_;
};

// --- JSON ------------------------------------------------------------------------

// protobuf's JSON has bytes as base64, and people and scripts want to read keys: so they are
// converted as strings, which hold the keys' text form.

void WriteKeysAsText(Message* message) {
  const auto& access = *message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  access.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? access.FieldSize(*message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const bool repeated = field->is_repeated();
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        WriteKeysAsText(repeated ? access.MutableRepeatedMessage(message, field, i)
                                 : access.MutableMessage(message, field));
      } else if (field->type() == FieldDescriptor::TYPE_BYTES && repeated) {
        access.SetRepeatedString(message, field, i,
                                 Escaped(access.GetRepeatedString(*message, field, i)));
      } else if (field->type() == FieldDescriptor::TYPE_BYTES) {
        access.SetString(message, field, Escaped(access.GetString(*message, field)));
      }
    }
  }
}

// The types of messages, with strings where they have bytes.
class TextTypes {
 public:
  std::unique_ptr<Message> New(const google::protobuf::Descriptor& type) {
    Add(*type.file());
    const auto* found = pool_.FindMessageTypeByName(type.full_name());
    SM_CHECK(found != nullptr, "a copy of a type cannot be built");
    return std::unique_ptr<Message>(factory_.GetPrototype(found)->New());
  }

 private:
  void Add(const google::protobuf::FileDescriptor& file) {
    if (pool_.FindFileByName(file.name()) != nullptr) return;
    for (int i = 0; i < file.dependency_count(); ++i) Add(*file.dependency(i));
    google::protobuf::FileDescriptorProto copy;
    file.CopyTo(&copy);
    for (auto& type : *copy.mutable_message_type()) ReplaceBytes(&type);
    pool_.BuildFile(copy);
  }

  static void ReplaceBytes(google::protobuf::DescriptorProto* type) {
    using Field = google::protobuf::FieldDescriptorProto;
    for (auto& field : *type->mutable_field()) {
      if (field.type() == Field::TYPE_BYTES) field.set_type(Field::TYPE_STRING);
    }
    for (auto& nested : *type->mutable_nested_type()) ReplaceBytes(&nested);
  }

  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
};

std::unique_ptr<Message> WithKeysAsText(const Message& message, TextTypes* types) {
  std::unique_ptr<Message> changed(message.New());
  changed->CopyFrom(message);
  WriteKeysAsText(changed.get());
  auto copy = types->New(*message.GetDescriptor());
  SM_CHECK(copy->ParseFromString(changed->SerializeAsString()), "keys as text are UTF-8");
  return copy;
}

std::string Json(const Message& message, bool one_line) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = !one_line;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  thread_local TextTypes types;  // a stream has many messages of few types
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(*WithKeysAsText(message, &types), &json, options);
  // It fails only for well-known types (Any, Timestamp) out of their range: we use none.
  if (!status.ok()) json = "{}";
  return json;
}

}  // namespace

std::string ToYaml(const Message& message) {
  YamlWriter writer;
  writer.WriteFields(message, "", "");
  return writer.Take();
}

std::string ToJson(const Message& message) {
  std::string json = Json(message, false);
  if (json.empty() || json.back() != '\n') json += '\n';
  return json;
}

std::string ToJsonLine(const Message& message) { return Json(message, true); }

}  // namespace shardmanager::cli
