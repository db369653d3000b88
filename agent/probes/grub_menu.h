#pragma once

// A grub menu, and which of its entries grub takes by itself.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace gpuskew {

/// A text a script computes; not known where it depends on what no file says (the machine's graphics, a key held).
struct GrubValue {
  std::string text;
  bool is_known = true;

  bool operator==(const GrubValue&) const = default;
};

struct GrubEntry {
  std::string title;
  std::string id;           ///< the title, where the script gives none
  bool is_certain = true;   ///< false: whether the menu holds it depends on what no file says
  bool is_submenu = false;  ///< `entries` are its own
  std::vector<GrubEntry> entries;
  std::vector<GrubValue> kernels;  ///< what its linux lines load, as paths of grub's; several where it has conditions
  std::string options;             ///< of the first of them
  bool leaves_grub = false;        ///< it starts another loader or configuration

  bool operator==(const GrubEntry&) const = default;
};

struct GrubChoice {
  const GrubEntry* entry = nullptr;
  bool is_fallback = false;  ///< "default" names no entry of the menu, so grub takes the first
};

/// The entry grub boots when nobody touches it, with `chosen` as its variable "default": an index, an id or a title,
/// with '>' between the levels of submenus; the first entry where it names none. Errors: Unsupported where it can not
/// be told, NotFound where the menu is empty.
Result<GrubChoice> default_entry(const std::vector<GrubEntry>& menu, std::string_view chosen);

}  // namespace gpuskew
