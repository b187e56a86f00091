// Aligned columns for terminals, as kubectl has them. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shardmanager::cli {

// Of what stands below a heading.
inline constexpr char kIndent[] = "  ";

// What a text means, shown as its colour where colours are wanted.
enum class Tone { kPlain, kGood, kWarning, kBad, kQuiet };

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
};

// The text in its tone. Nothing but the text when colours are not wanted.
std::string Painted(const Cell& cell, bool colour);

// Columns on a screen: characters, not bytes.
size_t Width(const std::string& text);

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}

  // REQUIRES: as many cells as the header has.
  void AddRow(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

  // A line for the header and each row, each after `indent`; an empty cell is "-",
  // but for the last column.
  std::string Render(bool colour, const std::string& indent = "") const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<Cell>> rows_;
};

// "Name:      value" lines, the values aligned.
class FieldList {
 public:
  explicit FieldList(bool colour) : colour_(colour) {}

  // An empty value is left out.
  void Add(const std::string& name, const Cell& value);
  void Add(const std::string& name, const std::string& value) { Add(name, Cell{value}); }
  std::string Render() const;

 private:
  bool colour_;
  std::vector<std::pair<std::string, Cell>> lines_;
};

}  // namespace shardmanager::cli
