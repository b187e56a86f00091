// Keys, which are any bytes, as people write them in specs and on the command line. Escaped()
// (text.h) writes the text form. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>

namespace shardmanager {

// Forms other than text, by the names that stand after the "!" of a YAML tag: digits of bytes, and
// numbers as so many bits, the most significant byte first. "binary" is base64 (RFC 4648, section
// 4), as YAML has it.
inline constexpr std::array<const char*, 5> kKeyForms = {"hex", "binary", "u64", "u32", "u16"};

// The text form: UTF-8, in which \xHH is a byte, and \\, \", \n, \r and \t are as in C. Nothing: it
// is not UTF-8, or has another backslash.
std::optional<std::string> KeyFromText(const std::string& text);

// In one of kKeyForms. Examples: "hex", "75f0"; "u64", "1000". Nothing: no such form, or `digits`
// are none of that form.
std::optional<std::string> KeyFromForm(const std::string& form, const std::string& digits);

// For people: what may stand there. Example of "u16": "a whole number from 0 to 65535".
std::string KeyFormRule(const std::string& form);

// For people: what may stand where a key is expected.
std::string KeyRule();

// Does it look like a number, so that a person could mean its digits or its bytes?
bool LooksLikeNumber(const std::string& text);

}  // namespace shardmanager
