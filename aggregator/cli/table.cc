#include "aggregator/cli/table.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "aggregator/cli/screen_text.h"

namespace gpuskew {
namespace {

constexpr std::size_t kGap = 2;

std::string_view shown(const Cell& cell) {
  return cell.text.empty() ? std::string_view("-") : cell.text;
}

std::string csv_name(std::string_view header) {
  std::string name(header);
  for (char& c : name) {
    c = c == ' ' ? '_' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return name;
}

std::string csv_field(std::string_view text) {
  const bool blank_end = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  if (!blank_end && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') {
      quoted += '"';
    }
    quoted += c;
  }
  return quoted + '"';
}

std::size_t line_width(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + kGap * (widths.size() - 1);
}

/// The widest column that can still give.
std::optional<std::size_t> next_to_shrink(const std::vector<Column>& columns, const std::vector<std::size_t>& widths) {
  std::optional<std::size_t> widest;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].may_be_cut && widths[i] > Table::kNarrowestCell && (!widest || widths[i] > widths[*widest])) {
      widest = i;
    }
  }
  return widest;
}

void append_line(std::string& out, const std::vector<Cell>& cells, const std::vector<std::size_t>& widths,
                 const Screen& screen) {
  std::size_t owed = 0;  // blanks are written only once something follows them
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string text = cut_to(shown(cells[i]), widths[i]);
    out.append(owed, ' ');
    out += paint(text, cells[i].style, screen);
    owed = widths[i] - display_width(text) + kGap;
  }
  out += '\n';
}

}  // namespace

std::vector<std::size_t> Table::widths_on(const Screen& screen) const {
  std::vector<std::size_t> widths;
  widths.reserve(columns_.size());
  for (const Column& column : columns_) {
    widths.push_back(display_width(column.header));
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(shown(row[i])));
    }
  }
  while (screen.columns && line_width(widths) > *screen.columns) {
    const auto shrink = next_to_shrink(columns_, widths);
    if (!shrink) {
      break;
    }
    --widths[*shrink];
  }
  return widths;
}

std::string Table::to_text(const Screen& screen) const {
  const std::vector<std::size_t> widths = widths_on(screen);
  std::vector<Cell> header;
  header.reserve(columns_.size());
  for (const Column& column : columns_) {
    header.push_back(Cell{column.header, Style::Bold});
  }
  std::string out;
  append_line(out, header, widths, screen);
  for (const auto& row : rows_) {
    append_line(out, row, widths, screen);
  }
  return out;
}

std::string Table::to_csv() const {
  std::string out;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    out += i == 0 ? "" : ",";
    out += csv_field(csv_name(columns_[i].header));
  }
  out += '\n';
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += i == 0 ? "" : ",";
      out += csv_field(row[i].text);
    }
    out += '\n';
  }
  return out;
}

}  // namespace gpuskew
