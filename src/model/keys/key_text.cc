#include "model/keys/key_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/text.h"

namespace shardmanager {
namespace {

bool IsHex(std::string_view digits) {
  return std::all_of(digits.begin(), digits.end(),
                     [](unsigned char c) { return absl::ascii_isxdigit(c); });
}

// The byte that the escape at the front of `rest` stands for, which is shortened by the escape.
std::optional<char> TakeEscape(std::string_view* rest) {
  if (rest->size() < 2) return std::nullopt;
  const char kind = (*rest)[1];
  if (kind == 'x') {
    const std::string digits(rest->substr(2, 2));
    if (digits.size() < 2 || !IsHex(digits)) return std::nullopt;
    rest->remove_prefix(4);
    return absl::HexStringToBytes(digits)[0];
  }
  constexpr std::string_view kKinds = "\\\"nrt";
  constexpr std::string_view kBytes = "\\\"\n\r\t";
  const size_t at = kKinds.find(kind);
  if (at == std::string_view::npos) return std::nullopt;
  rest->remove_prefix(2);
  return kBytes[at];
}

// How many bytes a number has in that form; 0: the form is of no number.
size_t NumberBytes(const std::string& form) {
  return form == "u64" ? 8 : form == "u32" ? 4 : form == "u16" ? 2 : 0;
}

uint64_t MostOf(size_t bytes) { return ~uint64_t{0} >> (64 - 8 * bytes); }

std::optional<std::string> KeyFromNumber(size_t bytes, std::string_view digits) {
  uint64_t number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc() && stop == digits.data() + digits.size();
  if (!whole || number > MostOf(bytes)) return std::nullopt;
  std::string key(bytes, '\0');
  for (size_t i = bytes; i-- > 0; number >>= 8) key[i] = static_cast<char>(number & 0xff);
  return key;
}

// absl::Base64Unescape also takes white space, and digits without padding.
std::optional<std::string> KeyFromBase64(const std::string& digits) {
  std::string key;
  std::string again;
  if (!absl::Base64Unescape(digits, &key)) return std::nullopt;
  absl::Base64Escape(key, &again);
  if (again != digits) return std::nullopt;
  return key;
}

}  // namespace

std::optional<std::string> KeyFromText(const std::string& text) {
  if (ValidUtf8Bytes(text) != text.size()) return std::nullopt;
  std::string key;
  key.reserve(text.size());
  std::string_view rest = text;
  while (!rest.empty()) {
    if (rest[0] != '\\') {
      key += rest[0];
      rest.remove_prefix(1);
      continue;
    }
    const auto byte = TakeEscape(&rest);
    if (!byte) return std::nullopt;
    key += *byte;
  }
  return key;
}

std::optional<std::string> KeyFromForm(const std::string& form, const std::string& digits) {
  if (const size_t bytes = NumberBytes(form); bytes > 0) return KeyFromNumber(bytes, digits);
  if (form == "binary") return KeyFromBase64(digits);
  if (form != "hex" || digits.size() % 2 != 0 || !IsHex(digits)) return std::nullopt;
  return absl::HexStringToBytes(digits);
}

std::string KeyFormRule(const std::string& form) {
  if (const size_t bytes = NumberBytes(form); bytes > 0) {
    return absl::StrCat("a whole number from 0 to ", MostOf(bytes));
  }
  if (form == "hex") return "two hexadecimal digits for each byte";
  if (form == "binary") return "base64, with padding";
  return absl::StrCat("one of ", absl::StrJoin(kKeyForms, ", "));
}

std::string KeyRule() {
  return "text, in which \\xHH is a byte and \\\\ a backslash, in quotes if it is a number; "
         "or !hex, !!binary, !u64, !u32 or !u16 and digits";
}

bool LooksLikeNumber(const std::string& text) {
  double number = 0;
  if (absl::SimpleAtod(text, &number)) {
    return text.find_first_of("0123456789") != std::string_view::npos;
  }
  const bool based = text.size() > 2 && text[0] == '0';
  if (based && text[1] == 'x') return IsHex(text.substr(2));
  return based && text[1] == 'o' && text.find_first_not_of("01234567", 2) == std::string_view::npos;
}

}  // namespace shardmanager
