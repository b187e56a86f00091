#include "cli/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace shardmanager::cli {
namespace {

constexpr size_t kGap = 3;

const char* ColourOf(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kWarning:
      return "\x1b[33m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kQuiet:
      return "\x1b[2m";
  }
  return "";
}

void AppendLine(const std::vector<Cell>& row, const std::vector<size_t>& widths, bool colour,
                std::string* out) {
  std::string padding;
  for (size_t i = 0; i < row.size(); ++i) {
    const bool last = i + 1 == row.size();
    const Cell cell = {row[i].text.empty() && !last ? "-" : row[i].text, row[i].tone};
    if (cell.text.empty()) break;
    absl::StrAppend(out, padding, Painted(cell, colour));
    padding = std::string(widths[i] - Width(cell.text) + kGap, ' ');
  }
  *out += '\n';
}

}  // namespace

std::string Painted(const Cell& cell, bool colour) {
  if (!colour || cell.tone == Tone::kPlain || cell.text.empty()) return cell.text;
  return absl::StrCat(ColourOf(cell.tone), cell.text, "\x1b[0m");
}

size_t Width(const std::string& text) {
  const auto starts = [](unsigned char byte) { return (byte & 0xc0) != 0x80; };
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), starts));
}

std::string Table::Render(bool colour, const std::string& indent) const {
  std::vector<size_t> widths;
  std::vector<Cell> names;
  for (const std::string& name : header_) {
    widths.push_back(Width(name));
    names.push_back({name});
  }
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i].text));
  }
  std::string out = indent;
  AppendLine(names, widths, colour, &out);
  for (const auto& row : rows_) {
    out += indent;
    AppendLine(row, widths, colour, &out);
  }
  return out;
}

void FieldList::Add(const std::string& name, const Cell& value) {
  // (Further values of the field above have no name.)
  if (!value.text.empty()) lines_.emplace_back(name.empty() ? "" : name + ":", value);
}

std::string FieldList::Render() const {
  size_t width = 0;
  for (const auto& line : lines_) width = std::max(width, line.first.size());
  std::string out;
  for (const auto& [name, value] : lines_) {
    absl::StrAppend(&out, name, std::string(width - name.size() + 2, ' '), Painted(value, colour_),
                    "\n");
  }
  return out;
}

}  // namespace shardmanager::cli
