#include "agent/host_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace gpuskew {
namespace {

constexpr std::size_t kReadBlock = 16u << 10;
constexpr std::size_t kMaxLinkText = 4096;  // the kernel's PATH_MAX
constexpr std::size_t kListBlock = 32u << 10;

FileKind kind_of_entry(int directory, const char* name, unsigned char type) {
  switch (type) {
    case DT_REG:
      return FileKind::Regular;
    case DT_DIR:
      return FileKind::Directory;
    case DT_LNK:
      return FileKind::Link;
    case DT_CHR:
      return FileKind::CharacterDevice;
    case DT_UNKNOWN: {  // some file systems do not store the type
      struct stat raw {};
      const bool known = ::fstatat(directory, name, &raw, AT_SYMLINK_NOFOLLOW) == 0;
      return known ? file_kind(raw.st_mode) : FileKind::Other;
    }
    default:
      return FileKind::Other;
  }
}

// Calls `take(name, type, inode)` for each record of one getdents block but "." and ".."; false as soon as it returns
// false.
template <class Take>
bool each_record(const char* block, std::size_t size, const Take& take) {
  std::size_t at = 0;
  while (at < size) {
    const char* record = block + at;
    unsigned short length = 0;
    std::copy_n(record + offsetof(dirent64, d_reclen), sizeof(length), reinterpret_cast<char*>(&length));
    std::uint64_t inode = 0;
    std::copy_n(record + offsetof(dirent64, d_ino), sizeof(inode), reinterpret_cast<char*>(&inode));
    const auto type = static_cast<unsigned char>(record[offsetof(dirent64, d_type)]);
    const char* name = record + offsetof(dirent64, d_name);
    at += length;
    const std::string_view text(name);
    if (text != "." && text != ".." && !take(name, type, inode)) {
      return false;
    }
  }
  return true;
}

// Every entry of a directory. TooLarge past `limit` of them.
template <class Take>
Result<void> each_entry(const HostFile& directory, std::size_t limit, const Take& take) {
  std::vector<char> block(kListBlock);
  std::size_t entries = 0;
  const auto counted = [&](const char* name, unsigned char type, std::uint64_t inode) {
    if (entries++ == limit) {
      return false;
    }
    take(name, type, inode);
    return true;
  };
  for (;;) {
    const ssize_t got = ::getdents64(directory.descriptor(), block.data(), block.size());
    if (got < 0) {
      return host_file_error("listing", directory.name(), errno);
    }
    if (got == 0) {
      return {};
    }
    if (!each_record(block.data(), static_cast<std::size_t>(got), counted)) {
      return fail(ErrorCode::TooLarge,
                  "listing " + directory.name() + ": more than " + std::to_string(limit) + " entries");
    }
  }
}

}  // namespace

Result<HostRoot> HostRoot::open(const std::filesystem::path& root, std::optional<PathWalk> walk) {
  const int descriptor = ::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    return host_file_error("opening host root", root.native(), errno);
  }
  const PathWalk chosen = walk.value_or(best_path_walk(descriptor));
  return HostRoot(HostFile(descriptor, root.native()), "", chosen);
}

Result<HostRoot> HostRoot::beneath(std::string_view path) const {
  auto directory = open_place(path, O_PATH | O_DIRECTORY, "opening");
  if (!directory) {
    return tl::unexpected(directory.error());
  }
  std::string prefix = directory->name();
  return HostRoot(std::move(*directory), std::move(prefix), walk_);
}

Result<HostFile> HostRoot::open_place(std::string_view path, std::uint64_t flags, std::string_view doing) const {
  std::string name = prefix_ + std::string(path);
  if (path.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::Malformed, std::string(doing) + ": a NUL byte in the path");
  }
  const int descriptor = open_beneath(directory_.descriptor(), std::string(path), flags, walk_);
  if (descriptor < 0) {
    return host_file_error(doing, name, errno);
  }
  return HostFile(descriptor, std::move(name));
}

Result<HostFile> HostRoot::open_path(std::string_view path) const {
  return open_place(path, O_PATH, "opening");
}

Result<HostFile> HostRoot::open_file(std::string_view path) const {
  // Looked at before it is opened: opening a device can have effects (a watchdog starts to count).
  auto place = open_place(path, O_PATH, "reading");
  if (!place) {
    return place;
  }
  auto before = place->status();
  if (!before) {
    return tl::unexpected(before.error());
  }
  if (before->kind != FileKind::Regular) {
    return fail(ErrorCode::Malformed, "reading " + place->name() + ": not a regular file");
  }
  // Were it swapped for a fifo or terminal just now, this would neither block nor adopt it.
  auto file = open_place(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, "reading");
  if (!file) {
    return file;
  }
  auto after = file->status();
  if (!after) {
    return tl::unexpected(after.error());
  }
  if (after->kind != FileKind::Regular) {
    return fail(ErrorCode::Malformed, "reading " + file->name() + ": not a regular file");
  }
  return file;
}

Result<std::string> HostRoot::read(std::string_view path, std::size_t limit) const {
  auto file = open_file(path);
  return file ? read_to_end(*file, limit) : tl::unexpected(file.error());
}

Result<std::string> HostRoot::read_to_end(const HostFile& file, std::size_t limit) {
  std::string bytes;
  std::array<char, kReadBlock> block;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read
  for (;;) {
    const ssize_t got = ::read(file.descriptor(), block.data(), block.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return host_file_error("reading", file.name(), errno);
    }
    if (got == 0) {
      return bytes;
    }
    bytes.append(block.data(), static_cast<std::size_t>(got));
    if (bytes.size() > limit) {
      return fail(ErrorCode::TooLarge, "reading " + file.name() + ": more than " + std::to_string(limit) + " bytes");
    }
  }
}

Result<std::string> HostRoot::read_line(std::string_view path) const {
  auto line = read(path, kMaxLineBytes);
  if (line && line->ends_with('\n')) {
    line->pop_back();
  }
  return line;
}

Result<std::string> HostRoot::read_kernel_line(std::string_view path) const {
  const auto file = open_place(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, "reading");
  const auto status = file ? file->status() : Result<FileStatus>(tl::unexpected(file.error()));
  if (!status) {
    return tl::unexpected(status.error());
  }
  if (status->kind != FileKind::Regular) {
    return fail(ErrorCode::Malformed, "reading " + file->name() + ": not a regular file");
  }
  auto line = read_to_end(*file, kMaxLineBytes);
  if (line && line->ends_with('\n')) {
    line->pop_back();
  }
  return line;
}

Result<std::vector<DirectoryEntry>> HostRoot::list(std::string_view path, std::size_t limit) const {
  auto directory = open_place(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, "listing");
  if (!directory) {
    return tl::unexpected(directory.error());
  }
  std::vector<DirectoryEntry> entries;
  const auto listed = each_entry(*directory, limit, [&](const char* name, unsigned char type, std::uint64_t inode) {
    entries.push_back({name, kind_of_entry(directory->descriptor(), name, type), inode});
  });
  if (!listed) {
    return tl::unexpected(listed.error());
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

Result<std::size_t> HostRoot::each_link(std::string_view path, std::size_t limit, const VisitLink& visit) const {
  auto directory = open_place(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, "listing");
  if (!directory) {
    return tl::unexpected(directory.error());
  }
  std::array<char, kMaxLinkText> target;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by readlinkat
  std::size_t links = 0;
  const auto listed = each_entry(*directory, limit, [&](const char* name, unsigned char type, std::uint64_t) {
    if (type != DT_LNK && type != DT_UNKNOWN) {
      return;
    }
    const ssize_t length = ::readlinkat(directory->descriptor(), name, target.data(), target.size());
    if (length >= 0) {
      ++links;
      visit(name, std::string_view(target.data(), static_cast<std::size_t>(length)));
    }
  });
  if (!listed) {
    return tl::unexpected(listed.error());
  }
  return links;
}

Result<std::string> HostRoot::read_link(std::string_view path) const {
  auto link = open_place(path, O_PATH | O_NOFOLLOW, "reading link");
  if (!link) {
    return tl::unexpected(link.error());
  }
  auto status = link->status();
  if (!status) {
    return tl::unexpected(status.error());
  }
  if (status->kind != FileKind::Link) {
    return fail(ErrorCode::Malformed, "reading link " + link->name() + ": not a link");
  }
  std::array<char, kMaxLinkText> target;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by readlinkat
  const ssize_t length = ::readlinkat(link->descriptor(), "", target.data(), target.size());
  if (length < 0) {
    return host_file_error("reading link", link->name(), errno);
  }
  return std::string(target.data(), static_cast<std::size_t>(length));
}

Result<std::string> HostRoot::resolve(std::string_view path) const {
  std::string current(path);
  for (std::size_t links = 0; links <= kMaxLinks; ++links) {
    auto place = open_place(current, O_PATH | O_NOFOLLOW, "resolving");
    if (!place) {
      return tl::unexpected(place.error());
    }
    auto status = place->status();
    if (!status) {
      return tl::unexpected(status.error());
    }
    if (status->kind != FileKind::Link) {
      return current;
    }
    auto target = read_link(current);
    if (!target) {
      return target;
    }
    // A relative target starts at the link's directory; ".." and links in it are open_beneath's business.
    current = target->starts_with('/') ? *target : current.substr(0, current.rfind('/') + 1) + *target;
  }
  return fail(ErrorCode::Malformed,
              "resolving " + prefix_ + std::string(path) + ": more than " + std::to_string(kMaxLinks) + " links");
}

Result<FileStatus> HostRoot::status(std::string_view path) const {
  auto place = open_place(path, O_PATH, "looking at");
  if (!place) {
    return tl::unexpected(place.error());
  }
  return place->status();
}

}  // namespace gpuskew
