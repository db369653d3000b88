#pragma once

// A package's header as rpm keeps it in every kind of database: an index of tags, and the data they point into.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

struct RpmPackage {
  std::string name;
  std::string version;               ///< "550.90.07-1.el9": without its epoch
  std::optional<Time> installed_at;  ///< nullopt: not told within kMaxHeaderPrefix

  bool operator==(const RpmPackage&) const = default;
};

/// The first `size` bytes of a header, fewer where it is shorter. A header of many files is a megabyte, and what is
/// wanted stands at its beginning.
using HeaderPrefix = std::function<Result<std::string>(std::size_t size)>;

inline constexpr std::size_t kMaxHeaderPrefix = 1u << 20;

/// Errors: those of `header`; Malformed; TooLarge where name or version stand beyond kMaxHeaderPrefix.
Result<std::string> rpm_package_name(const HeaderPrefix& header);
Result<RpmPackage> rpm_package(const HeaderPrefix& header);

/// Whether a package's name is one to read more of.
using PackageFilter = bool (*)(std::string_view name);

/// Packages a database may hold; those a filter may let through.
inline constexpr std::size_t kMaxPackages = 65'536;
inline constexpr std::size_t kMaxWantedPackages = 512;

/// Adds the package when the filter wants it. TooLarge past kMaxWantedPackages.
Result<void> add_if_wanted(const HeaderPrefix& header, PackageFilter wanted, std::vector<RpmPackage>& packages);

}  // namespace gpuskew
