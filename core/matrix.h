#pragma once

// The support matrix: which driver images exist. Columns are text (8.10 stays 8.10).

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/tag.h"

namespace gpuskew {

class Matrix {
 public:
  static constexpr std::size_t kMaxBytes = 16u << 20;
  static constexpr std::size_t kMaxRows = 200'000;

  struct Row {
    std::string driver;  ///< branch or full version
    std::string kernel;  ///< label form
    std::string os;
    auto operator<=>(const Row&) const = default;
  };

  /// CSV with the header `driver_branch,kernel,os_tag`: quotes, CRLF, BOM, blank lines, '#' comments and
  /// duplicates are taken. Errors name line and column; one bad row refuses the file, so that a broken edit
  /// never makes images vanish.
  static Result<Matrix> parse_csv(std::string_view text);

  bool contains(const Tag& tag) const;
  std::size_t size() const { return rows_.size(); }
  const std::set<Row>& rows() const { return rows_; }

  bool operator==(const Matrix&) const = default;

 private:
  std::set<Row> rows_;
};

}  // namespace gpuskew
