#include "agent/probes/grub_menu.h"

#include <charconv>
#include <optional>

namespace gpuskew {
namespace {

// The first level of "a>b>c", and what is left of it. A doubled '>' stands for one that is part of the name.
struct Path {
  std::string first;
  std::string_view rest;
};

Path split(std::string_view chosen) {
  Path path;
  std::size_t at = 0;
  for (; at < chosen.size(); ++at) {
    if (chosen[at] == '>') {
      if (!chosen.substr(at + 1).starts_with('>')) {
        path.rest = chosen.substr(at + 1);
        break;
      }
      ++at;
    }
    path.first += chosen[at];
  }
  return path;
}

// The number a text begins with, as grub reads it; nullopt where it begins with none.
std::optional<std::size_t> leading_number(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<std::size_t> named(const std::vector<GrubEntry>& menu, std::string_view name) {
  for (std::size_t index = 0; index < menu.size(); ++index) {
    if (menu[index].title == name || menu[index].id == name) {
      return index;
    }
  }
  return std::nullopt;
}

struct Index {
  std::size_t value = 0;
  bool is_fallback = false;
};

Result<Index> chosen_index(const std::vector<GrubEntry>& menu, std::string_view name) {
  std::size_t index = 0;
  const auto number = leading_number(name);
  const std::size_t by_number = number && *number < menu.size() ? *number : 0;
  if (is_number(name)) {
    if (name.size() > 1 && name.starts_with('0')) {
      return fail(ErrorCode::Unsupported, "the default " + in_quotes(name) + " is an octal number, or none");
    }
    index = by_number;
  } else if (const auto by_name = named(menu, name)) {
    // The menus of Fedora and RHEL have ids that begin with a machine id, often a digit, and their grub takes them for
    // ids. Another grub takes every name that begins with a digit for an index.
    if (number && by_number != *by_name && (menu[*by_name].id != name || menu[*by_name].title == name)) {
      return fail(ErrorCode::Unsupported, "the default " + in_quotes(name) + " is a title and begins with a number");
    }
    index = *by_name;
  } else if (by_number != 0) {
    return fail(ErrorCode::Unsupported, "the default " + in_quotes(name) + " names no entry and begins with a number");
  }
  const bool is_fallback = !name.empty() && !is_number(name) && !named(menu, name);
  for (std::size_t before = 0; before <= index; ++before) {
    if (!menu[before].is_certain) {
      return fail(ErrorCode::Unsupported,
                  "whether the menu holds " + in_quotes(menu[before].title) + " depends on what no file says");
    }
  }
  return Index{index, is_fallback};
}

}  // namespace

Result<GrubChoice> default_entry(const std::vector<GrubEntry>& menu, std::string_view chosen) {
  const std::vector<GrubEntry>* level = &menu;
  bool is_fallback = false;
  for (;;) {
    if (level->empty()) {
      return fail(ErrorCode::NotFound, "the menu has no entry");
    }
    const Path path = split(chosen);
    const auto index = chosen_index(*level, path.first);
    if (!index) {
      return tl::unexpected(index.error());
    }
    is_fallback = is_fallback || index->is_fallback;
    const GrubEntry& entry = level->at(index->value);
    if (!entry.is_submenu) {
      return GrubChoice{&entry, is_fallback};
    }
    level = &entry.entries;
    chosen = path.rest;
  }
}

}  // namespace gpuskew
