#include "cli/yaml/field_value.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/keys/key_text.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

template <typename Number>
std::optional<Number> ToNumber(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// YAML writes infinity and "not a number" with a dot.
std::optional<double> ToDouble(std::string text) {
  const size_t sign = text.rfind('-', 0) == 0 ? 1 : 0;
  if (text.compare(sign, 1, ".") == 0 && text.size() > sign + 1 &&
      absl::ascii_isalpha(static_cast<unsigned char>(text[sign + 1]))) {
    text.erase(sign, 1);
  }
  return ToNumber<double>(text);
}

// yaml-cpp turns the escapes \_ and \N into single bytes, which are no UTF-8.
std::optional<std::string> ToText(const std::string& text) {
  if (ValidUtf8Bytes(text) != text.size()) return std::nullopt;
  return text;
}

// "!hex" and "!!binary" without "!".
std::string FormOf(const std::string& tag) {
  return tag.substr(std::min(tag.find_first_not_of('!'), tag.size()));
}

bool IsKeyForm(const std::string& tag) {
  const std::string form = FormOf(tag);
  return std::find(kKeyForms.begin(), kKeyForms.end(), form) != kKeyForms.end();
}

// A field of bytes: a key. A tag says its form; a number without quotes is refused, as it could
// mean its digits or its bytes.
std::optional<std::string> ToKey(const YamlScalar& scalar) {
  if (scalar.tag.empty()) {
    if (scalar.plain && LooksLikeNumber(*scalar.text)) return std::nullopt;
    return KeyFromText(scalar.key);
  }
  return KeyFromForm(FormOf(scalar.tag), *scalar.text);
}

std::optional<bool> ToBool(const std::string& text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "true") return true;
  if (lower == "false") return false;
  return std::nullopt;
}

std::optional<int> ToEnumNumber(const google::protobuf::EnumDescriptor& type,
                                const std::string& text) {
  std::string name = absl::AsciiStrToUpper(text);
  std::replace(name.begin(), name.end(), '-', '_');
  const auto* value = type.FindValueByName(name);
  if (value == nullptr) return std::nullopt;
  return value->number();
}

// Calls `put` with the value, if there is one.
template <typename T, typename Put>
bool PutIf(const std::optional<T>& value, Put put) {
  if (value.has_value()) put(*value);
  return value.has_value();
}

template <typename Integer>
std::string WholeNumbers() {
  return absl::StrCat("a whole number from ", std::numeric_limits<Integer>::min(), " to ",
                      std::numeric_limits<Integer>::max());
}

}  // namespace

bool PutScalar(Message& message, const FieldDescriptor& field, const YamlScalar& scalar) {
  const std::string& text = *scalar.text;
  const bool is_key = field.type() == FieldDescriptor::TYPE_BYTES;
  if (!is_key && IsKeyForm(scalar.tag)) return false;
  const auto& access = *message.GetReflection();
  const bool add = field.is_repeated();
  switch (field.cpp_type()) {
#define SM_PUT(TYPE, VALUE)                                     \
  return PutIf(VALUE, [&](auto value) {                         \
    add ? access.Add##TYPE(&message, &field, std::move(value))  \
        : access.Set##TYPE(&message, &field, std::move(value)); \
  })
    case FieldDescriptor::CPPTYPE_STRING:
      SM_PUT(String, is_key ? ToKey(scalar) : ToText(text));
    case FieldDescriptor::CPPTYPE_BOOL:
      SM_PUT(Bool, ToBool(text));
    case FieldDescriptor::CPPTYPE_UINT32:
      SM_PUT(UInt32, ToNumber<uint32_t>(text));
    case FieldDescriptor::CPPTYPE_UINT64:
      SM_PUT(UInt64, ToNumber<uint64_t>(text));
    case FieldDescriptor::CPPTYPE_INT32:
      SM_PUT(Int32, ToNumber<int32_t>(text));
    case FieldDescriptor::CPPTYPE_INT64:
      SM_PUT(Int64, ToNumber<int64_t>(text));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      SM_PUT(Double, ToDouble(text));
    case FieldDescriptor::CPPTYPE_FLOAT:
      SM_PUT(Float, ToDouble(text));
    case FieldDescriptor::CPPTYPE_ENUM:
      SM_PUT(EnumValue, ToEnumNumber(*field.enum_type(), text));
#undef SM_PUT
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return false;
}

std::string FoundText(const FieldDescriptor& field, const YamlScalar& scalar) {
  const bool is_key = field.type() == FieldDescriptor::TYPE_BYTES;
  const bool is_scalar = field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
  if (is_key && scalar.plain && LooksLikeNumber(*scalar.text)) {
    return absl::StrCat("the number ", *scalar.text, " without quotes");
  }
  const std::string tag = is_scalar && !scalar.tag.empty() ? absl::StrCat(scalar.tag, " ") : "";
  return absl::StrCat(tag, Quoted(is_key && scalar.tag.empty() ? scalar.key : *scalar.text));
}

std::string AllowedValues(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return field.type() == FieldDescriptor::TYPE_BYTES ? KeyRule() : "text";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true, false";
    case FieldDescriptor::CPPTYPE_UINT32:
      return WholeNumbers<uint32_t>();
    case FieldDescriptor::CPPTYPE_UINT64:
      return WholeNumbers<uint64_t>();
    case FieldDescriptor::CPPTYPE_INT32:
      return WholeNumbers<int32_t>();
    case FieldDescriptor::CPPTYPE_INT64:
      return WholeNumbers<int64_t>();
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "a number";
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumLabels(*field.enum_type());
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return absl::StrCat("fields (", absl::StrJoin(FieldNames(*field.message_type()), ", "), ")");
}

std::vector<std::string> FieldNames(const google::protobuf::Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

}  // namespace shardmanager::cli
