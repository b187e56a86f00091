// Writes JSON for the console's pages. (What is one message of admin.proto is written by protobuf.)
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shardmanager::console {

// Call it in the order of the text:
// `Begin('{').Key("shards").Begin('[').Text("a").End(']').End('}')`.
class Json {
 public:
  // `bracket`: '{' or '['.
  Json& Begin(char bracket) {
    Separate();
    text_ += bracket;
    first_ = true;
    return *this;
  }
  // '}' or ']'.
  Json& End(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
  }
  Json& Key(std::string_view name) {
    Text(name);
    text_ += ':';
    first_ = true;  // its value follows without a comma
    return *this;
  }
  Json& Text(std::string_view value) {
    Separate();
    text_ += '"';
    for (const char c : value) AppendEscaped(c);
    text_ += '"';
    return *this;
  }
  Json& Number(double value) {
    if (!std::isfinite(value)) return Raw("null");
    return Raw(value == std::floor(value) && std::abs(value) < 1e15
                   ? absl::StrCat(static_cast<int64_t>(value))
                   : absl::StrFormat("%.6g", value));
  }
  Json& Bool(bool value) { return Raw(value ? "true" : "false"); }
  // `json`: a value, written already.
  Json& Raw(std::string_view json) {
    Separate();
    text_ += json;
    return *this;
  }

  std::string Take() { return std::move(text_); }

 private:
  void Separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  // "<" and the like are escaped, too: harmless even where a browser takes the text for a page.
  void AppendEscaped(char c) {
    switch (c) {
      case '"':
        text_ += "\\\"";
        return;
      case '\\':
        text_ += "\\\\";
        return;
      case '\n':
        text_ += "\\n";
        return;
      default:
        break;
    }
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f || c == '<' || c == '>' || c == '&') {
      absl::StrAppendFormat(&text_, "\\u%04x", code);
      return;
    }
    text_ += c;
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace shardmanager::console
