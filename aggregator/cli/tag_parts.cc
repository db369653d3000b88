#include "aggregator/cli/tag_parts.h"

#include <string_view>
#include <utility>

namespace gpuskew {
namespace {

/// Errors: NotFound when it is missing or empty, else what `parse` says; both name the flag.
template <class T>
Result<T> part(std::string_view flag, const std::optional<std::string>& given, Result<T> (*parse)(std::string_view)) {
  if (!given || given->empty()) {
    return fail(ErrorCode::NotFound, std::string(flag) + " is missing");
  }
  Result<T> value = parse(*given);
  if (!value) {
    return fail(flag, value.error());
  }
  return value;
}

Result<std::string> as_given(std::string_view text) {
  return std::string(text);
}

Result<DriverPart> parse_driver_part(std::string_view text) {
  if (text == "branch") {
    return DriverPart::Branch;
  }
  if (text == "version") {
    return DriverPart::Version;
  }
  return fail(ErrorCode::Malformed, std::string(text) + " is neither branch nor version");
}

}  // namespace

Result<TagPolicy> policy_of(const TagParts& parts) {
  TagPolicy policy;
  if (parts.driver_part) {
    const auto driver_part = part("--driver-part", parts.driver_part, parse_driver_part);
    if (!driver_part) {
      return tl::unexpected(driver_part.error());
    }
    policy.driver_part = *driver_part;
  }
  if (parts.operator_version) {
    auto version = part("--operator-version", parts.operator_version, OperatorVersion::parse);
    if (!version) {
      return tl::unexpected(version.error());
    }
    policy.operator_version = std::move(*version);
  }
  return policy;
}

Result<Tag> tag_of_parts(const TagParts& parts) {
  const auto kernel = part("--kernel", parts.kernel, KernelRelease::parse);
  const auto os = part("--os", parts.os, as_given);
  const auto os_version = part("--os-version", parts.os_version, as_given);
  const auto driver = part("--driver", parts.driver, DriverVersion::parse);
  const auto policy = policy_of(parts);
  std::string wrong;
  const auto gather = [&wrong](const auto& read) {
    if (!read) {
      wrong += (wrong.empty() ? "" : "; ") + read.error().what;
    }
  };
  gather(kernel);
  gather(os);
  gather(os_version);
  gather(driver);
  gather(policy);
  if (!wrong.empty()) {
    return fail(ErrorCode::Malformed, "no tag: " + wrong);
  }
  OsIdentity identity;
  identity.id = *os;
  identity.version_id = *os_version;
  return compute_tag(Fact<DriverVersion>::known(*driver, "--driver"), Fact<KernelRelease>::known(*kernel, "--kernel"),
                     Fact<OsIdentity>::known(std::move(identity), "--os, --os-version"), *policy);
}

}  // namespace gpuskew
