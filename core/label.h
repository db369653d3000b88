#pragma once

// Kubernetes label values, and the forms NFD and GFD give ours. The raw form of a kernel release and
// its label form are different things ("6.6.72+" and "6.6.72"): tags use the label form.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/os_release.h"
#include "core/result.h"
#include "core/version.h"

namespace gpuskew {

inline constexpr std::size_t kMaxLabelValue = 63;

/// Kubernetes' rule: at most 63 of [-A-Za-z0-9_.], starting and ending alphanumeric; "" is valid.
bool is_label_value(std::string_view value);

/// NFD's form of a kernel release: every byte outside [-A-Za-z0-9_.] becomes '_', then '-', '_' and
/// '.' are trimmed at both ends (NFD source/kernel/version.go). No length limit here: a tag may hold it.
/// "" when nothing is left.
std::string nfd_kernel_form(const KernelRelease& kernel);

/// nfd_kernel_form as a label value. TooLarge past 63 characters: NFD drops such a label, and a
/// shortened one could equal another node's.
Result<std::string> kernel_label(const KernelRelease& kernel);

using Labels = std::map<std::string, std::string, std::less<>>;

/// feature.node.kubernetes.io/kernel-version.{full,major,minor,revision}; `full` is left out when over 63. The
/// numbers come from the label form, and only from forms NFD takes them from: "6.12.43_deb13-amd64" has none.
Labels kernel_labels(const KernelRelease& kernel);
/// feature.node.kubernetes.io/system-os_release.{ID,VERSION_ID,VERSION_ID.major,.minor}; major and minor only
/// when they are numbers (Talos has "v1.12.6"). What is not a label value is left out: one bad value would make the
/// API server refuse the whole patch.
Labels os_labels(const OsIdentity& os);
/// nvidia.com/cuda.driver-version.{full,major,minor,revision} and the older cuda.driver.{major,minor,rev}; the
/// revision of a two-part version is there and empty, as GFD writes it.
Labels driver_labels(const DriverVersion& driver);

/// The form the gpu-operator puts a kernel into the NAME of a precompiled driver DaemonSet with (not into
/// the tag): drop x86_64[_64k] and aarch64[_64k], '_' becomes '.', one trailing '.' off, lower case. Two kernels
/// can share one form. (gpu-operator internal/state/driver.go getSanitizedKernelVersion)
std::string operator_object_form(std::string_view kernel_label);
/// One sentence for each operator object form that several of these kernels (label forms, of nodes with one OS tag)
/// share: the operator keys its node pools by it. Concluded from its code, so the sentences say "may".
std::vector<std::string> shared_object_form_notes(const std::set<std::string, std::less<>>& kernel_labels);
/// RFC 1123 subdomain of at most 253 characters, as Kubernetes demands of object names: ".." in an RT kernel's form
/// breaks it.
bool is_dns_subdomain(std::string_view name);

}  // namespace gpuskew
