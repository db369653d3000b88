#include "core/matrix.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/label.h"
#include "core/version.h"

namespace gpuskew {
namespace {

constexpr std::array<std::string_view, 3> kColumns{"driver_branch", "kernel", "os_tag"};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const auto start = text.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) {
    return {};
  }
  return text.substr(start, text.find_last_not_of(kBlanks) - start + 1);
}

struct Field {
  std::string text;
  bool comma_follows = false;
};

/// `line` begins behind the opening quote. A field can not span lines here: no column could hold a line end.
Result<Field> take_quoted_field(std::string_view& line) {
  Field field;
  while (true) {
    const auto quote = line.find('"');
    if (quote == std::string_view::npos) {
      return fail(ErrorCode::Malformed, "the quote is not closed");
    }
    field.text += line.substr(0, quote);
    line.remove_prefix(quote + 1);
    if (!line.starts_with('"')) {
      break;
    }
    field.text += '"';  // doubled: one of the field's own
    line.remove_prefix(1);
  }
  line = trimmed(line);
  field.comma_follows = line.starts_with(',');
  if (!line.empty() && !field.comma_follows) {
    return fail(ErrorCode::Malformed, "something behind the closing quote");
  }
  line.remove_prefix(field.comma_follows ? 1 : 0);
  return field;
}

Result<Field> take_field(std::string_view& line) {
  line = trimmed(line);
  if (line.starts_with('"')) {
    line.remove_prefix(1);
    return take_quoted_field(line);
  }
  const auto comma = line.find(',');
  const std::string_view text = trimmed(line.substr(0, comma));
  if (text.find('"') != std::string_view::npos) {
    return fail(ErrorCode::Malformed, "a quote inside an unquoted field");
  }
  const bool comma_follows = comma != std::string_view::npos;
  line.remove_prefix(comma_follows ? comma + 1 : line.size());
  return Field{std::string(text), comma_follows};
}

std::string column_name(std::size_t index) {
  return "column " + std::to_string(index + 1) + " (" + std::string(kColumns.at(index)) + ")";
}

using Columns = std::array<std::string, kColumns.size()>;

Result<Columns> split(std::string_view line) {
  Columns columns;
  bool more = true;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!more) {
      return fail(ErrorCode::Malformed, column_name(i) + ": missing");
    }
    auto field = take_field(line);
    if (!field) {
      return fail(column_name(i), field.error());
    }
    columns.at(i) = std::move(field->text);
    more = field->comma_follows;
  }
  if (more) {
    return fail(ErrorCode::Malformed, "column 4: a row has three columns");
  }
  return columns;
}

/// What no tag could hold is refused: such a row would never match, and nobody would learn why.
Result<Matrix::Row> read_row(std::string_view line) {
  auto columns = split(line);
  if (!columns) {
    return tl::unexpected(columns.error());
  }
  auto& [driver, kernel, os] = *columns;
  if (!parse_dotted_numbers(driver, 1, 3)) {
    return fail(ErrorCode::Malformed, column_name(0) + ": " + in_quotes(driver) + " is no driver branch or version");
  }
  const auto release = KernelRelease::parse(kernel);
  if (!release || nfd_kernel_form(*release) != kernel) {
    const std::string form = release ? nfd_kernel_form(*release) : "";
    const std::string hint = form.empty() ? "" : "; that of this release is " + in_quotes(form);
    return fail(ErrorCode::Malformed, column_name(1) + ": " + in_quotes(kernel) + " is no kernel's label form" + hint);
  }
  if (!is_tag_text(os)) {
    return fail(ErrorCode::Malformed, column_name(2) + ": " + in_quotes(os) + " can not stand in a tag");
  }
  return Matrix::Row{std::move(driver), std::move(kernel), std::move(os)};
}

bool is_header(std::string_view line) {
  const auto columns = split(line);
  return columns && std::equal(columns->begin(), columns->end(), kColumns.begin());
}

/// The next line that is neither blank nor a comment, without blanks at its ends; `number` counts every line.
/// nullopt at the end.
std::optional<std::string_view> next_line(std::string_view& text, std::size_t& number) {
  while (!text.empty()) {
    ++number;
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = trimmed(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
    if (!line.empty() && line.front() != '#') {
      return line;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Matrix> Matrix::parse_csv(std::string_view text) {
  if (text.size() > kMaxBytes) {
    return fail(ErrorCode::TooLarge,
                "a matrix of " + std::to_string(text.size()) + " bytes (at most " + std::to_string(kMaxBytes) + ")");
  }
  constexpr std::string_view kBom = "\xef\xbb\xbf";
  if (text.starts_with(kBom)) {
    text.remove_prefix(kBom.size());
  }
  std::size_t number = 0;
  const auto header = next_line(text, number);
  if (!header) {
    return fail(ErrorCode::Malformed, "line 1, column 1: the header driver_branch,kernel,os_tag is missing");
  }
  if (!is_header(*header)) {
    return fail(ErrorCode::Malformed, "line " + std::to_string(number) +
                                          ", column 1: the header is driver_branch,kernel,os_tag, not " +
                                          in_quotes(*header));
  }
  Matrix matrix;
  while (const auto line = next_line(text, number)) {
    auto row = read_row(*line);
    if (!row) {
      return fail(row.error().code, "line " + std::to_string(number) + ", " + row.error().what);
    }
    matrix.rows_.insert(std::move(*row));
    if (matrix.rows_.size() > kMaxRows) {
      return fail(ErrorCode::TooLarge,
                  "line " + std::to_string(number) + ", column 1: more than " + std::to_string(kMaxRows) + " rows");
    }
  }
  return matrix;
}

bool Matrix::contains(const Tag& tag) const {
  return rows_.contains(Row{tag.driver, tag.kernel, tag.os});
}

}  // namespace gpuskew
