#include "model/text.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shardmanager {
namespace {

constexpr size_t kQuotedBytes = 60;

bool IsContinuation(unsigned char byte) { return (byte & 0xc0) == 0x80; }

// Bytes of the well-formed, printable, multi-byte UTF-8 character at the start of
// `rest`; 0 if there is none. U+0080 to U+009F are terminal controls.
size_t PrintableMultiByte(std::string_view rest) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(rest[i]); };
  const size_t length = at(0) >= 0xf0 ? 4 : at(0) >= 0xe0 ? 3 : at(0) >= 0xc0 ? 2 : 0;
  if (length == 0 || at(0) >= 0xf5 || rest.size() < length) return 0;
  uint32_t code = at(0) & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(at(i))) return 0;
    code = code << 6 | (at(i) & 0x3fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0xa0, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code >= kSmallest[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

std::string EscapedByte(char byte) {
  switch (byte) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    default:
      return absl::StrFormat("\\x%02x", static_cast<unsigned char>(byte));
  }
}

// The longest prefix of at most `bytes` that does not cut a character in two.
std::string_view Prefix(std::string_view text, size_t bytes) {
  while (bytes > 0 && IsContinuation(static_cast<unsigned char>(text[bytes]))) --bytes;
  return text.substr(0, bytes);
}

}  // namespace

std::string Escaped(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    const char byte = bytes[i];
    const bool plain = byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
    const size_t length = plain ? 1 : PrintableMultiByte(bytes.substr(i));
    out += length > 0 ? std::string(bytes.substr(i, length)) : EscapedByte(byte);
    i += std::max<size_t>(length, 1);
  }
  return out;
}

std::string Quoted(std::string_view bytes) {
  if (bytes.size() <= kQuotedBytes) return absl::StrCat("\"", Escaped(bytes), "\"");
  return absl::StrCat("\"", Escaped(Prefix(bytes, kQuotedBytes)), "...\"");
}

std::string RangeText(std::string_view start, std::string_view end) {
  return absl::StrCat("[", start.empty() ? "first key" : Quoted(start), ", ",
                      end.empty() ? "last key]" : absl::StrCat(Quoted(end), ")"));
}

std::string EnumLabel(const google::protobuf::EnumDescriptor& type, int number) {
  const auto* value = type.FindValueByNumber(number);
  if (value == nullptr) return absl::StrCat(number);
  std::string label = absl::AsciiStrToLower(value->name());
  std::replace(label.begin(), label.end(), '_', '-');
  return label;
}

std::string EnumLabels(const google::protobuf::EnumDescriptor& type) {
  std::string labels;
  for (int i = 0; i < type.value_count(); ++i) {
    const int number = type.value(i)->number();
    if (number == 0) continue;
    absl::StrAppend(&labels, labels.empty() ? "" : ", ", EnumLabel(type, number));
  }
  return labels;
}

std::string Counted(size_t count, const std::string& noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace shardmanager
