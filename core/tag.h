#pragma once

// The driver image tag a node needs: <driver branch or version>-<kernel, label form>-<os tag>.
// A missing part is an error that names it. Never a wrong tag.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fact.h"
#include "core/os_release.h"
#include "core/result.h"
#include "core/version.h"

namespace gpuskew {

/// What a registry takes as a tag: [A-Za-z0-9_.-], at most 128 (OCI distribution specification).
inline constexpr std::size_t kMaxTag = 128;
bool is_tag_text(std::string_view text);

/// A gpu-operator release, "26.3.1" or "v25.10"; only used to choose a tag rule.
class OperatorVersion {
 public:
  /// Malformed unless two or three dot-separated numbers, with or without a 'v'.
  static Result<OperatorVersion> parse(std::string_view text);
  const std::string& text() const { return text_; }
  auto operator<=>(const OperatorVersion& other) const { return parts_ <=> other.parts_; }
  bool operator==(const OperatorVersion& other) const { return parts_ == other.parts_; }

 private:
  std::string text_;
  std::vector<std::uint32_t> parts_;
};

enum class DriverPart : std::uint8_t {
  Branch,   ///< 550-5.15.0-119-generic-ubuntu22.04 (precompiled, Ubuntu)
  Version,  ///< 550.90.07-5.14.0-427.13.1.el9_4.x86_64-rhel9.4 (RHEL family)
};

struct TagPolicy {
  DriverPart driver_part = DriverPart::Branch;
  /// nullopt: the plain rule, ID followed by VERSION_ID.
  std::optional<OperatorVersion> operator_version;

  bool operator==(const TagPolicy&) const = default;
};

struct OsTag {
  std::string text;  ///< "ubuntu22.04"
  std::string rule;  ///< which rule made it, for people: "ID and VERSION_ID", "rocky: major only (operator >= 26.3)"
};

/// Errors: NotFound naming the missing os-release keys (VERSION_ID on Arch or Debian sid; an empty one counts as
/// missing), Malformed for a value that can not stand in a tag.
Result<OsTag> os_tag(const OsIdentity& os, const std::optional<OperatorVersion>& operator_version);

struct Tag {
  std::string text;
  std::string driver;  ///< the first part, "550"
  std::string kernel;  ///< the second, in label form
  std::string os;      ///< the third
  std::string os_rule;
  /// What an operator must know beside the tag ("RT kernel: the operator's DaemonSet name is invalid").
  std::vector<std::string> notes;
};

/// Every part as a fact. Errors name the part and, for each missing part, why: "no tag: driver version is
/// unknown, because ...; os VERSION_ID is missing in /etc/os-release". TooLarge past a registry's 128.
Result<Tag> compute_tag(const Fact<DriverVersion>& driver, const Fact<KernelRelease>& kernel,
                        const Fact<OsIdentity>& os, const TagPolicy& policy);

}  // namespace gpuskew
