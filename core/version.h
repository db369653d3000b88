#pragma once

// Versions keep the text they were read with (a leading zero is part of a file name, a label and a
// tag) and compare by number, part by part: 570.133.7 and 570.133.07 are one driver.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace gpuskew {

/// The numbers of "550.90.07": parts of one to five digits between single dots, nothing around them. nullopt when
/// the text is anything else, or has fewer or more parts than asked for.
std::optional<std::vector<std::uint32_t>> parse_dotted_numbers(std::string_view text, std::size_t min_parts,
                                                               std::size_t max_parts);

/// An NVIDIA driver version, "X.Y" or "X.Y.Z". "460.56" is not padded to "460.56.00".
class DriverVersion {
 public:
  /// Malformed unless two or three dot-separated parts of one to five digits, nothing around them.
  static Result<DriverVersion> parse(std::string_view text);

  /// As read, leading zeros kept: "550.90.07".
  const std::string& text() const { return text_; }
  /// The release branch, first part as read: "550".
  std::string_view branch() const { return part_text(0); }
  std::string_view minor_text() const { return part_text(1); }
  /// "" for a two-part version, as GFD labels it.
  std::string_view revision_text() const { return part_text(2); }
  std::uint32_t branch_number() const { return parts_.front(); }

  std::strong_ordering operator<=>(const DriverVersion& other) const { return parts_ <=> other.parts_; }
  bool operator==(const DriverVersion& other) const { return parts_ == other.parts_; }

 private:
  std::string_view part_text(std::size_t index) const;
  std::string text_;
  std::vector<std::uint32_t> parts_;
};

/// Of two spellings of one version, the one that keeps the leading zeros ("570.133.07").
const DriverVersion& fuller_spelling(const DriverVersion& a, const DriverVersion& b);

/// A CUDA version "X.Y" or "X.Y.Z"; 12.10 is newer than 12.9.
class CudaVersion {
 public:
  static Result<CudaVersion> parse(std::string_view text);
  const std::string& text() const { return text_; }
  std::uint32_t major_number() const { return parts_.front(); }
  std::uint32_t minor_number() const { return parts_[1]; }
  std::strong_ordering operator<=>(const CudaVersion& other) const { return parts_ <=> other.parts_; }
  bool operator==(const CudaVersion& other) const { return parts_ == other.parts_; }

 private:
  std::string text_;
  std::vector<std::uint32_t> parts_;
};

/// uname's release, raw. Equality is by the raw text: `+`, `.x86_64` and `+rt` tell kernels apart.
class KernelRelease {
 public:
  /// utsname.release holds 64 characters.
  static constexpr std::size_t kMaxLength = 64;

  /// Malformed when empty or with blanks or control characters, TooLarge past kMaxLength. One trailing
  /// newline (as in /proc) is taken off.
  static Result<KernelRelease> parse(std::string_view text);

  const std::string& text() const { return text_; }
  /// The first three numbers, as far as they are there: "6.6.72+" gives {6, 6, 72}.
  const std::vector<std::uint32_t>& numbers() const { return numbers_; }
  /// Ubuntu's flavour, every dash part behind the ABI number ("azure-fde" of "6.8.0-1046-azure-fde");
  /// "" where the release does not have that shape. Ubuntu's mainline builds ("-060812-generic") and git
  /// describe's counts ("-00123-gabc") begin with a zero and are no ABI numbers.
  std::string_view flavour() const;

  bool operator==(const KernelRelease& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  std::vector<std::uint32_t> numbers_;
};

enum class ModuleFlavour : std::uint8_t { Proprietary, Open };
std::string_view to_string(ModuleFlavour flavour);

/// What /proc/driver/nvidia/version says of the loaded module.
struct NvrmVersion {
  /// Malformed when the line was cut inside the version: a prefix of a version is never a version.
  Result<DriverVersion> version;
  ModuleFlavour flavour = ModuleFlavour::Proprietary;
  std::string architecture;  ///< "x86_64", "aarch64", "x86"
  /// Jetson (Tegra) up to JetPack 5 prints its L4T release in the version's place; then `version` is Unsupported.
  /// JetPack 6 prints a number of its own ("540.4.0"): `version` is Unsupported then too, and this is nullopt.
  std::optional<std::string> l4t_release;
};

/// Parses the "NVRM version:" line; other lines (GCC) are ignored. Dates may be in any language or
/// missing. Errors: Malformed when there is no such line, or it ends before it says which module this is.
Result<NvrmVersion> parse_nvrm_version(std::string_view text);

}  // namespace gpuskew
