#pragma once

// Rows in columns: as text for people, as CSV for programs.

#include <string>
#include <vector>

#include "aggregator/cli/screen.h"

namespace gpuskew {

struct Column {
  std::string header;       ///< "LAST HEARD"; CSV calls it last_heard
  bool may_be_cut = false;  ///< prose; what is copied (names, tags, versions) is never cut
};

struct Cell {
  std::string text;  ///< printable
  Style style = Style::Plain;
};

class Table {
 public:
  /// No cell is cut below this many columns; a terminal too narrow for that wraps.
  static constexpr std::size_t kNarrowestCell = 12;

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns.
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }

  /// Columns two blanks apart, no blanks at line ends. An empty cell reads "-". On a terminal the columns that may
  /// be cut are cut until a line fits.
  std::string to_text(const Screen& screen) const;
  /// RFC 4180 with LF line ends, header first.
  std::string to_csv() const;

 private:
  std::vector<std::size_t> widths_on(const Screen& screen) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace gpuskew
