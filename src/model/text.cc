#include "model/text.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shardmanager {
namespace {

constexpr size_t kQuotedBytes = 60;

bool IsContinuation(unsigned char byte) { return (byte & 0xc0) == 0x80; }

// The first character of `rest`, as UTF-8. No bytes: it is not well-formed.
struct Character {
  size_t bytes = 0;
  uint32_t code = 0;
};

Character FirstCharacter(std::string_view rest) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(rest[i]); };
  if (at(0) < 0x80) return {1, at(0)};
  const size_t bytes = at(0) >= 0xf0 ? 4 : at(0) >= 0xe0 ? 3 : at(0) >= 0xc0 ? 2 : 0;
  if (bytes == 0 || at(0) >= 0xf8 || rest.size() < bytes) return {};
  uint32_t code = at(0) & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if (!IsContinuation(at(i))) return {};
    code = code << 6 | (at(i) & 0x3fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kSmallest[bytes] || code > 0x10ffff || surrogate) return {};
  return {bytes, code};
}

// U+0080 to U+009F are terminal controls, like those below U+0020.
bool IsPrintable(const Character& character) {
  if (character.bytes == 0) return false;
  return character.code >= 0x20 && (character.code < 0x7f || character.code >= 0xa0);
}

bool IsPlain(const Character& character) {
  return IsPrintable(character) && character.code != '"' && character.code != '\\';
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

// Escapes all characters but those that are `fine`.
std::string EscapedBut(bool (*fine)(const Character&), std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character character = FirstCharacter(bytes);
    const size_t length = std::max<size_t>(character.bytes, 1);
    for (const char byte : bytes.substr(0, length)) {
      out += fine(character) ? std::string(1, byte) : EscapedByte(byte);
    }
    bytes.remove_prefix(length);
  }
  return out;
}

// The longest prefix of at most `bytes` that does not cut a character in two.
std::string_view Prefix(std::string_view text, size_t bytes) {
  while (bytes > 0 && IsContinuation(static_cast<unsigned char>(text[bytes]))) --bytes;
  return text.substr(0, bytes);
}

}  // namespace

std::string Escaped(std::string_view bytes) { return EscapedBut(IsPlain, bytes); }

std::string Printable(std::string_view bytes) { return EscapedBut(IsPrintable, bytes); }

size_t ValidUtf8Bytes(std::string_view bytes) {
  size_t valid = 0;
  while (valid < bytes.size()) {
    const size_t length = FirstCharacter(bytes.substr(valid)).bytes;
    if (length == 0) break;
    valid += length;
  }
  return valid;
}

std::string Quoted(std::string_view bytes) {
  if (bytes.size() <= kQuotedBytes) return absl::StrCat("\"", Escaped(bytes), "\"");
  return absl::StrCat("\"", Escaped(Prefix(bytes, kQuotedBytes)), "...\"");
}

std::string RangeText(std::string_view start, std::string_view end) {
  return absl::StrCat("[", start.empty() ? "first key" : Quoted(start), ", ",
                      end.empty() ? "last key]" : absl::StrCat(Quoted(end), ")"));
}

std::string HashRangeText(std::string_view start, std::string_view end) {
  return absl::StrCat("hash [", start.empty() ? "0" : std::string(start), ", ",
                      end.empty() ? "end]" : absl::StrCat(std::string(end), ")"));
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

std::string TimeText(int64_t time_ms) {
  using namespace std::chrono;
  const sys_time<milliseconds> time{milliseconds(time_ms)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss<milliseconds> clock(time - day);
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                         static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                         clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                         clock.subseconds().count());
}

}  // namespace shardmanager
