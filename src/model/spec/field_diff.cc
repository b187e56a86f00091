#include "model/spec/field_diff.h"

#include <google/protobuf/descriptor.h>

#include "absl/strings/str_cat.h"
#include "model/text.h"

namespace shardmanager {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string ScalarText(const Message& message, const FieldDescriptor& field) {
  const auto& access = *message.GetReflection();
  if (field.has_presence() && !access.HasField(message, &field)) return "nothing";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string value = access.GetString(message, &field);
      return value.empty() ? "nothing" : Quoted(value);
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int value = access.GetEnumValue(message, &field);
      return value == 0 ? "nothing" : EnumLabel(*field.enum_type(), value);
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return access.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(access.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(access.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(access.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(access.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return absl::StrCat(access.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return absl::StrCat(access.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return access.GetMessage(message, &field).ShortDebugString();
}

std::string RepeatedText(const Message& message, const FieldDescriptor& field) {
  const auto& access = *message.GetReflection();
  std::string text;
  for (int i = 0; i < access.FieldSize(message, &field); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "");
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      text += Quoted(access.GetRepeatedString(message, &field, i));
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      absl::StrAppend(&text, "{", access.GetRepeatedMessage(message, &field, i).ShortDebugString(),
                      "}");
    }
  }
  return absl::StrCat("[", text, "]");
}

bool IsMessage(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_repeated();
}

void Append(const std::string& prefix, const Message& before, const Message& after,
            const std::string& skip, std::vector<std::string>* lines) {
  const auto& type = *before.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string path = prefix + field.name();
    if (path == skip) continue;
    if (IsMessage(field)) {
      Append(path + ".", before.GetReflection()->GetMessage(before, &field),
             after.GetReflection()->GetMessage(after, &field), skip, lines);
      continue;
    }
    const auto text = field.is_repeated() ? RepeatedText : ScalarText;
    const std::string was = text(before, field);
    const std::string is = text(after, field);
    if (was != is) lines->push_back(absl::StrCat(path, ": ", was, " -> ", is));
  }
}

}  // namespace

void AppendFieldDifferences(const Message& before, const Message& after, const std::string& skip,
                            std::vector<std::string>* lines) {
  Append("", before, after, skip, lines);
}

}  // namespace shardmanager
