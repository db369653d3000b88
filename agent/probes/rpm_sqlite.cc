#include "agent/probes/rpm_sqlite.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "agent/probes/sqlite_file.h"

namespace gpuskew {
namespace {

// Name (key, hnum, idx): the numbers of the packages with a wanted name.
Result<std::vector<std::int64_t>> wanted_numbers(SqliteFile& file, PackageFilter wanted) {
  const auto names = file.table("Name");
  if (!names) {
    return tl::unexpected(names.error());
  }
  std::vector<std::int64_t> numbers;
  std::size_t rows = 0;
  const auto read = file.for_each_row(*names, [&](const SqliteRow& row) -> Result<void> {
    const auto columns = sqlite_columns(row.local);
    if (!columns) {
      return tl::unexpected(columns.error());
    }
    if (columns->size() < 2 || !columns->front().is_text_or_blob() || ++rows > kMaxPackages) {
      return fail(ErrorCode::Malformed, "its index of names is another one, or too long");
    }
    const SqliteColumn& key = columns->front();
    if (key.offset + key.size > row.local.size() || !wanted(std::string_view(row.local).substr(key.offset, key.size))) {
      return {};
    }
    const auto number = sqlite_integer(row.local, (*columns)[1]);
    if (!number || numbers.size() == kMaxWantedPackages) {
      return fail(ErrorCode::Malformed, "its index of names is damaged");
    }
    numbers.push_back(*number);
    return {};
  });
  return read ? Result<std::vector<std::int64_t>>(std::move(numbers)) : tl::unexpected(read.error());
}

}  // namespace

Result<std::vector<RpmPackage>> read_rpm_sqlite(const ReadAt& database, const ReadAt* log, PackageFilter wanted) {
  auto file = SqliteFile::open(database, log);
  if (!file) {
    return tl::unexpected(file.error());
  }
  const auto numbers = wanted_numbers(*file, wanted);
  const auto table = file->table("Packages");
  if (!numbers || !table) {
    return tl::unexpected(numbers ? table.error() : numbers.error());
  }
  std::vector<RpmPackage> packages;
  for (const std::int64_t number : *numbers) {
    const auto row = file->row(*table, number);
    const auto columns = row ? sqlite_columns(row->local) : tl::unexpected(row.error());
    if (!columns) {
      return fail("package " + std::to_string(number), columns.error());
    }
    if (columns->size() < 2 || !columns->back().is_text_or_blob()) {
      return fail(ErrorCode::Malformed, "package " + std::to_string(number) + " has no header");
    }
    const SqliteColumn blob = (*columns)[1];
    const auto prefix = [&](std::size_t size) {
      return file->bytes(*row, blob.offset, std::min<std::uint64_t>(size, blob.size));
    };
    if (const auto read = add_if_wanted(prefix, wanted, packages); !read) {
      return fail("package " + std::to_string(number), read.error());
    }
  }
  return packages;
}

}  // namespace gpuskew
