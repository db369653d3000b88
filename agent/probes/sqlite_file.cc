#include "agent/probes/sqlite_file.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuskew {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::size_t kFileHeader = 100;
constexpr std::size_t kPageSizeAt = 16;
constexpr std::size_t kReadVersionAt = 19;  // 2: what the write-ahead log holds counts
constexpr std::size_t kReservedAt = 20;
constexpr std::size_t kMinPage = 512;
constexpr std::size_t kMaxPage = 64u << 10;

constexpr char kInteriorTable = 0x05;
constexpr char kLeafTable = 0x0d;
constexpr std::size_t kLeafHeader = 8;
constexpr std::size_t kInteriorHeader = 12;
constexpr std::size_t kCellsAt = 3;
constexpr std::size_t kRightChildAt = 8;
constexpr std::uint32_t kSchemaPage = 1;

constexpr std::uint64_t kMaxColumn = 1u << 30;  // SQLite's own limit

constexpr std::size_t kLogHeader = 32;
constexpr std::size_t kFrameHeader = 24;
constexpr std::uint32_t kLogMagic = 0x377f0682;  // the last bit: checksums over big-endian words

struct Varint {
  std::uint64_t value = 0;
  std::size_t length = 0;  ///< 0: the bytes ended inside it
};

Varint varint_at(std::string_view bytes, std::size_t at) {
  constexpr std::size_t kLongest = 9;
  Varint result;
  for (std::size_t i = 0; i < kLongest && at + i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[at + i]);
    if (i + 1 == kLongest) {
      return {(result.value << 8) | byte, kLongest};
    }
    result.value = (result.value << 7) | (byte & 0x7fU);
    if ((byte & 0x80U) == 0) {
      return {result.value, i + 1};
    }
  }
  return {};
}

tl::unexpected<Error> damaged(std::uint32_t page) {
  return fail(ErrorCode::Malformed, "page " + std::to_string(page) + " of the database is damaged");
}

// A table's page: its kind, and where its cells begin.
struct TablePage {
  bool leaf = false;
  std::size_t header = 0;  // offset of the page's own header
  std::size_t cells = 0;

  std::size_t cell(std::string_view page, std::size_t index) const {
    const std::size_t array = header + (leaf ? kLeafHeader : kInteriorHeader);
    return big_endian(page, array + 2 * index, 2);
  }
};

std::optional<TablePage> table_page(std::string_view page, std::uint32_t number) {
  TablePage result;
  result.header = number == kSchemaPage ? kFileHeader : 0;
  const char kind = page[result.header];
  if (kind != kInteriorTable && kind != kLeafTable) {
    return std::nullopt;
  }
  result.leaf = kind == kLeafTable;
  result.cells = big_endian(page, result.header + kCellsAt, 2);
  const std::size_t array = result.header + (result.leaf ? kLeafHeader : kInteriorHeader);
  if (array + 2 * result.cells > page.size()) {
    return std::nullopt;
  }
  return result;
}

class LogChecksum {
 public:
  explicit LogChecksum(bool big) : big_(big) {}
  void add(std::string_view bytes) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first_ += word(bytes, at) + second_;
      second_ += word(bytes, at + 4) + first_;
    }
  }
  bool matches(std::string_view bytes, std::size_t at) const {
    return big_endian32(bytes, at) == first_ && big_endian32(bytes, at + 4) == second_;
  }

 private:
  std::uint32_t word(std::string_view bytes, std::size_t at) const {
    return big_ ? big_endian32(bytes, at) : little_endian32(bytes, at);
  }
  bool big_;
  std::uint32_t first_ = 0;
  std::uint32_t second_ = 0;
};

}  // namespace

Result<SqliteFile> SqliteFile::open(const ReadAt& database, const ReadAt* log) {
  SqliteFile file(database, log);
  const auto header = read_exactly(database, 0, kFileHeader);
  if (!header) {
    return tl::unexpected(header.error());
  }
  const std::size_t written = big_endian(*header, kPageSizeAt, 2);
  file.page_size_ = written == 1 ? kMaxPage : written;
  const auto reserved = static_cast<unsigned char>((*header)[kReservedAt]);
  if (!header->starts_with(kMagic) || file.page_size_ < kMinPage || (file.page_size_ & (file.page_size_ - 1)) != 0 ||
      reserved > file.page_size_ - 480) {
    return fail(ErrorCode::Malformed, "not an SQLite database");
  }
  file.usable_ = file.page_size_ - reserved;
  if (log != nullptr && (*header)[kReadVersionAt] == 2) {
    if (const auto read = file.read_log(); !read) {
      return fail("its write-ahead log", read.error());
    }
  }
  return file;
}

// Frames count up to the last commit; those behind it, and those of an older round (other salts), do not.
Result<void> SqliteFile::read_log() {
  const auto header = (*log_)(0, kLogHeader);
  if (!header) {
    return tl::unexpected(header.error());
  }
  if (header->size() < kLogHeader) {
    return {};
  }
  const std::uint32_t magic = big_endian32(*header, 0);
  LogChecksum sum((magic & 1U) != 0);
  sum.add(std::string_view(*header).substr(0, kLogHeader - 8));
  if ((magic & ~1U) != kLogMagic || !sum.matches(*header, kLogHeader - 8)) {
    return {};  // SQLite itself takes such a log for an empty one
  }
  if (big_endian32(*header, 8) != page_size_) {
    return fail(ErrorCode::Malformed, "its pages have another size");
  }
  std::map<std::uint32_t, std::uint64_t> uncommitted;
  const std::size_t frame_size = kFrameHeader + page_size_;
  for (std::uint64_t at = kLogHeader;; at += frame_size) {
    if (at > kMaxLogBytes) {
      return fail(ErrorCode::TooLarge, "more than " + std::to_string(kMaxLogBytes) + " bytes");
    }
    const auto frame = (*log_)(at, frame_size);
    if (!frame) {
      return tl::unexpected(frame.error());
    }
    if (frame->size() < frame_size || frame->compare(8, 8, *header, 16, 8) != 0) {
      return {};
    }
    sum.add(std::string_view(*frame).substr(0, 8));
    sum.add(std::string_view(*frame).substr(kFrameHeader));
    if (!sum.matches(*frame, 16)) {
      return {};
    }
    uncommitted[big_endian32(*frame, 0)] = at + kFrameHeader;
    if (big_endian32(*frame, 4) != 0) {
      for (const auto& [page, place] : uncommitted) {
        logged_[page] = place;
      }
      uncommitted.clear();
    }
  }
}

Result<std::string> SqliteFile::page(std::uint32_t number) {
  if (number == 0) {
    return fail(ErrorCode::Malformed, "a link to a page that is not there");
  }
  if (++pages_read_ > kMaxPages) {
    return fail(ErrorCode::TooLarge, "more than " + std::to_string(kMaxPages) + " pages to read");
  }
  const auto logged = logged_.find(number);
  return logged != logged_.end() ? read_exactly(*log_, logged->second, page_size_)
                                 : read_exactly(*database_, std::uint64_t{number - 1} * page_size_, page_size_);
}

Result<SqliteRow> SqliteFile::leaf_row(std::string_view page, std::size_t at) const {
  const Varint size = varint_at(page, at);
  const Varint number = varint_at(page, at + size.length);
  const std::size_t begin = at + size.length + number.length;
  if (size.length == 0 || number.length == 0) {
    return fail(ErrorCode::Malformed, "a row is cut off");
  }
  // SQLite's rule for what stays in the cell.
  const std::uint64_t most = usable_ - 35;
  const std::uint64_t least = (usable_ - 12) * 32 / 255 - 23;
  std::uint64_t local = size.value;
  if (size.value > most) {
    const std::uint64_t fitting = least + (size.value - least) % (usable_ - 4);
    local = fitting <= most ? fitting : least;
  }
  const bool spills = local < size.value;
  if (begin + local + (spills ? 4 : 0) > page.size()) {
    return fail(ErrorCode::Malformed, "a row is cut off");
  }
  SqliteRow row;
  row.number = static_cast<std::int64_t>(number.value);
  row.size = size.value;
  row.local = page.substr(begin, local);
  row.overflow = spills ? big_endian32(page, begin + local) : 0;
  return row;
}

Result<void> SqliteFile::walk(std::uint32_t number, int depth, const Visit& visit) {
  const auto bytes = page(number);
  if (!bytes) {
    return tl::unexpected(bytes.error());
  }
  const auto table = table_page(*bytes, number);
  if (!table || depth > kMaxDepth) {
    return damaged(number);
  }
  for (std::size_t i = 0; i < table->cells; ++i) {
    const std::size_t at = table->cell(*bytes, i);
    Result<void> seen;
    if (!table->leaf) {
      seen = walk(big_endian32(*bytes, at), depth + 1, visit);
    } else {
      const auto row = leaf_row(*bytes, at);
      seen = row ? visit(*row) : Result<void>(damaged(number));
    }
    if (!seen) {
      return seen;
    }
  }
  return table->leaf ? Result<void>() : walk(big_endian32(*bytes, table->header + kRightChildAt), depth + 1, visit);
}

Result<void> SqliteFile::for_each_row(std::uint32_t table, const Visit& visit) {
  return walk(table, 0, visit);
}

Result<SqliteRow> SqliteFile::row(std::uint32_t table, std::int64_t number) {
  std::uint32_t place = table;
  for (int depth = 0; depth <= kMaxDepth; ++depth) {
    const auto bytes = page(place);
    if (!bytes) {
      return tl::unexpected(bytes.error());
    }
    const auto node = table_page(*bytes, place);
    if (!node) {
      return damaged(place);
    }
    std::uint32_t next = node->leaf ? 0 : big_endian32(*bytes, node->header + kRightChildAt);
    for (std::size_t i = 0; i < node->cells; ++i) {
      const std::size_t at = node->cell(*bytes, i);
      if (node->leaf) {
        auto row = leaf_row(*bytes, at);
        if (!row || row->number == number) {
          return row;
        }
      } else if (number <= static_cast<std::int64_t>(varint_at(*bytes, at + 4).value)) {
        next = big_endian32(*bytes, at);
        break;
      }
    }
    if (node->leaf) {
      return fail(ErrorCode::NotFound, "no row " + std::to_string(number));
    }
    place = next;
  }
  return damaged(place);
}

Result<std::string> SqliteFile::bytes(const SqliteRow& row, std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t end = std::min(row.size, offset + size);
  std::string bytes = row.local.substr(0, end);
  for (std::uint32_t next = row.overflow; bytes.size() < end;) {
    const auto more = page(next);
    if (!more) {
      return more;
    }
    next = big_endian32(*more, 0);
    bytes.append(*more, 4, std::min<std::uint64_t>(usable_ - 4, end - bytes.size()));
  }
  return offset < bytes.size() ? bytes.substr(offset) : std::string();
}

Result<std::uint32_t> SqliteFile::table(std::string_view name) {
  std::uint32_t found = 0;
  const auto read = for_each_row(kSchemaPage, [&](const SqliteRow& row) -> Result<void> {
    // type, name, tbl_name, rootpage, sql
    constexpr std::size_t kName = 1;
    constexpr std::size_t kRootPage = 3;
    const auto columns = sqlite_columns(row.local);
    if (!columns) {
      return tl::unexpected(columns.error());
    }
    const auto text = [&](std::size_t i) {
      const SqliteColumn& column = (*columns)[i];
      const std::string_view local = row.local;
      return column.is_text_or_blob() && column.offset + column.size <= local.size()
                 ? local.substr(column.offset, column.size)
                 : std::string_view();
    };
    if (columns->size() > kRootPage && text(0) == "table" && text(kName) == name) {
      const auto page = sqlite_integer(row.local, (*columns)[kRootPage]);
      found = page && *page > 0 && *page <= UINT32_MAX ? static_cast<std::uint32_t>(*page) : 0;
    }
    return {};
  });
  if (!read) {
    return tl::unexpected(read.error());
  }
  return found == 0 ? Result<std::uint32_t>(fail(ErrorCode::NotFound, "no table " + std::string(name))) : found;
}

Result<std::vector<SqliteColumn>> sqlite_columns(std::string_view row) {
  const Varint header = varint_at(row, 0);
  if (header.length == 0 || header.value > row.size() || header.value < header.length) {
    return fail(ErrorCode::Malformed, "a row's header is damaged");
  }
  std::vector<SqliteColumn> columns;
  std::uint64_t offset = header.value;
  for (std::size_t at = header.length; at < header.value;) {
    const Varint type = varint_at(row.substr(0, header.value), at);
    if (type.length == 0) {
      return fail(ErrorCode::Malformed, "a row's header is damaged");
    }
    if (columns.size() == SqliteFile::kMaxColumns) {
      return fail(ErrorCode::TooLarge, "more than " + std::to_string(SqliteFile::kMaxColumns) + " columns");
    }
    constexpr std::array<std::uint64_t, 12> kSizes = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    const std::uint64_t size = type.value < kSizes.size() ? kSizes.at(type.value) : (type.value - 12) / 2;
    if (size > kMaxColumn) {
      return fail(ErrorCode::TooLarge, "a column of " + std::to_string(size) + " bytes");
    }
    columns.push_back({type.value, offset, size});
    offset += size;
    at += type.length;
  }
  return columns;
}

std::optional<std::int64_t> sqlite_integer(std::string_view row, const SqliteColumn& column) {
  constexpr std::uint64_t kZero = 8;
  constexpr std::uint64_t kOne = 9;
  constexpr std::uint64_t kLastInteger = 6;
  if (column.type == kZero || column.type == kOne) {
    return static_cast<std::int64_t>(column.type - kZero);
  }
  if (column.type == 0 || column.type > kLastInteger || column.offset + column.size > row.size()) {
    return std::nullopt;
  }
  const bool negative = (static_cast<unsigned char>(row[column.offset]) & 0x80U) != 0;
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  for (std::uint64_t i = 0; i < column.size; ++i) {
    value = (value << 8) | static_cast<unsigned char>(row[column.offset + i]);
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace gpuskew
