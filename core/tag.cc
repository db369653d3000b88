#include "core/tag.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/label.h"

namespace gpuskew {
namespace {

// The OS part, by operator version: the first line that applies, else ID and VERSION_ID. Sources:
// gpu-operator getOSTag and getGPUNodeOSInfo; v26.3 (PR 2044), v26.7 (PR 2687).
struct MajorOnlyRule {
  std::string_view id;
  std::uint32_t from_major;  ///< of VERSION_ID
  std::string_view operator_from;
};
constexpr std::array<MajorOnlyRule, 4> kMajorOnlyRules{{
    {"rocky", 0, "26.3"},
    {"rhel", 10, "26.3"},
    {"rhel", 0, "26.7"},
    {"ol", 0, "26.7"},
}};

// What an operator should know of an OS whose image will not be found. As of 2026; from gpu-operator issues 2892,
// 1533, 709, 1623, 2239, 418, its PR 2687, and the list of images NVIDIA publishes.
struct OsNote {
  std::string_view id;
  std::string_view version_id;  ///< "": any
  std::string_view text;
};
constexpr std::array<OsNote, 9> kOsNotes{{
    {"centos", "10",
     "NVIDIA publishes no centos10 driver image (as of 2026); its relative there is rhel10, which the gpu-operator "
     "does not take instead"},
    {"scos", "", "NVIDIA publishes no driver image for scos (as of 2026)"},
    {"ol", "", "NVIDIA publishes no driver image for ol (as of 2026); a private registry may have one"},
    {"bottlerocket", "",
     "NVIDIA publishes no driver image for bottlerocket (as of 2026); the driver comes with the -nvidia variant of "
     "the OS image"},
    {"cos", "", "NVIDIA publishes no driver image for cos (as of 2026)"},
    {"talos", "",
     "NVIDIA publishes no driver image for talos (as of 2026); the driver is a system extension of the OS image"},
    {"buildroot", "", "NVIDIA publishes no driver image for buildroot (as of 2026)"},
    {"photon", "", "NVIDIA publishes no driver image for photon (as of 2026)"},
    {"opensuse-tumbleweed", "",
     "rolling release: VERSION_ID, and with it the tag, changes with every snapshot, also when the kernel stays"},
}};

/// Flavours of Ubuntu kernels NVIDIA builds precompiled images for (gpu-driver-container issues 679 and 767, PR 499).
constexpr std::array<std::string_view, 6> kPublishedFlavours{"aws",     "azure",  "azure-fde",
                                                             "generic", "nvidia", "oracle"};

bool is_tag_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
}

std::string_view major_text(std::string_view version_id) {
  return version_id.substr(0, version_id.find('.'));
}

std::optional<std::uint32_t> number_of(std::string_view text) {
  const auto number = parse_dotted_numbers(text, 1, 1);
  return number ? std::optional(number->front()) : std::nullopt;
}

bool is_at_least(const OperatorVersion& version, std::string_view text) {
  return version >= OperatorVersion::parse(text).value();
}

/// nullptr: the plain rule.
const MajorOnlyRule* find_rule(std::string_view id, std::uint32_t major, const OperatorVersion& version) {
  const auto* rule = std::find_if(kMajorOnlyRules.begin(), kMajorOnlyRules.end(), [&](const MajorOnlyRule& r) {
    return r.id == id && major >= r.from_major && is_at_least(version, r.operator_from);
  });
  return rule == kMajorOnlyRules.end() ? nullptr : rule;
}

std::string missing_keys(bool id_there, bool version_there) {
  if (id_there) {
    return "os VERSION_ID is missing";
  }
  return version_there ? "os ID is missing" : "os ID and VERSION_ID are missing";
}

}  // namespace

bool is_tag_text(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTag && std::all_of(text.begin(), text.end(), is_tag_character);
}

Result<OperatorVersion> OperatorVersion::parse(std::string_view text) {
  std::string_view number = text;
  number.remove_prefix(number.starts_with('v') ? 1 : 0);
  auto parts = parse_dotted_numbers(number, 2, 3);
  if (!parts) {
    return fail(ErrorCode::Malformed, in_quotes(text) + " is not a gpu-operator version (26.3.1 or v25.10)");
  }
  OperatorVersion version;
  version.text_ = text;
  version.parts_ = std::move(*parts);
  return version;
}

Result<OsTag> os_tag(const OsIdentity& os, const std::optional<OperatorVersion>& operator_version) {
  const bool version_there = os.version_id && !os.version_id->empty();
  if (os.id.empty() || !version_there) {
    return fail(ErrorCode::NotFound, missing_keys(!os.id.empty(), version_there));
  }
  const std::string& version_id = *os.version_id;
  // os-release(5): an ID is lower case. "Ubuntu" would make a tag that no registry has.
  if (!is_tag_text(os.id) || std::any_of(os.id.begin(), os.id.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
    return fail(ErrorCode::Malformed, "os ID " + in_quotes(os.id) + " can not stand in a tag");
  }
  if (!is_tag_text(version_id)) {
    return fail(ErrorCode::Malformed, "os VERSION_ID " + in_quotes(version_id) + " can not stand in a tag");
  }
  const auto major = number_of(major_text(version_id));
  constexpr std::uint32_t kNoMajor = std::numeric_limits<std::uint32_t>::max();
  const auto* rule = operator_version ? find_rule(os.id, major.value_or(kNoMajor), *operator_version) : nullptr;
  if (rule == nullptr) {
    return OsTag{os.id + version_id, "ID and VERSION_ID"};
  }
  if (!major) {
    return fail(ErrorCode::Malformed, "os VERSION_ID " + in_quotes(version_id) + " has no major number");
  }
  const std::string from_major = rule->from_major > 0 ? " >= " + std::to_string(rule->from_major) : "";
  return OsTag{os.id + std::string(major_text(version_id)),
               os.id + from_major + ": major only (operator >= " + std::string(rule->operator_from) + ")"};
}

namespace {

/// Why a part is missing, as a clause of the error.
template <class T>
std::string why_missing(std::string_view part, const Fact<T>& fact) {
  if (fact.is_unknown()) {
    return std::string(part) + " is unknown, because " + fact.why().what;
  }
  return std::string(part) + " is missing" + (fact.source().empty() ? "" : " in " + fact.source());
}

/// What is missing for a tag. The code is NotFound only when every part is certainly not there.
struct Missing {
  std::string text;
  std::optional<ErrorCode> code;

  void add(ErrorCode why, const std::string& clause) {
    text += (text.empty() ? "" : "; ") + clause;
    if (!code || *code == ErrorCode::NotFound) {
      code = why;
    }
  }
  template <class T>
  void add(std::string_view part, const Fact<T>& fact) {
    add(fact.is_unknown() ? fact.why().code : ErrorCode::NotFound, why_missing(part, fact));
  }
};

std::string driver_part(const Fact<DriverVersion>& driver, DriverPart part, Missing& missing) {
  if (!driver.is_known()) {
    missing.add("driver version", driver);
    return {};
  }
  return part == DriverPart::Branch ? std::string(driver->branch()) : driver->text();
}

std::string kernel_part(const Fact<KernelRelease>& kernel, Missing& missing) {
  if (!kernel.is_known()) {
    missing.add("kernel release", kernel);
    return {};
  }
  std::string form = nfd_kernel_form(*kernel);
  if (form.empty() || kernel->numbers().size() < 2) {
    missing.add(ErrorCode::Malformed,
                "kernel release " + in_quotes(kernel->text()) + " is no release a tag can hold (5.15.0-119-generic)");
  }
  return form;
}

OsTag os_part(const Fact<OsIdentity>& os, const TagPolicy& policy, Missing& missing) {
  if (!os.is_known()) {
    missing.add("os (ID, VERSION_ID)", os);
    return {};
  }
  auto tag = os_tag(*os, policy.operator_version);
  if (!tag) {
    const std::string where = os.source().empty() ? "" : " in " + os.source();
    missing.add(tag.error().code, tag.error().what + where);
    return {};
  }
  return std::move(*tag);
}

void add_kernel_notes(const std::string& form, std::vector<std::string>& notes) {
  if (form.size() > kMaxLabelValue) {
    notes.push_back("the kernel's label form has " + std::to_string(form.size()) + " characters, and a label at most " +
                    std::to_string(kMaxLabelValue) +
                    ": NFD drops kernel-version.full, so the gpu-operator can not pull this tag");
  }
  const std::string object_form = operator_object_form(form);
  if (!is_dns_subdomain(object_form)) {
    const bool realtime = form.ends_with("_rt") || form.ends_with("-rt");
    notes.push_back(std::string(realtime ? "RT kernel: " : "") +
                    "precompiled DaemonSet name invalid: the gpu-operator's " + "form of this kernel, " +
                    in_quotes(object_form) + ", is no DNS subdomain, so no driver pod will come");
  }
}

void add_flavour_note(const OsIdentity& os, const KernelRelease& kernel, std::vector<std::string>& notes) {
  const auto flavour = kernel.flavour();
  if (os.id != "ubuntu" ||
      std::find(kPublishedFlavours.begin(), kPublishedFlavours.end(), flavour) != kPublishedFlavours.end()) {
    return;
  }
  std::string published;
  for (const std::string_view name : kPublishedFlavours) {
    published += (published.empty() ? "" : ", ") + std::string(name);
  }
  const std::string which = flavour.empty() ? "this kernel has no Ubuntu flavour" : "flavour " + std::string(flavour);
  notes.push_back(which + ": NVIDIA publishes precompiled Ubuntu images for " + published + " (as of 2026)");
}

/// RHEL 9 images exist for even minors only (gpu-operator issue 1895, January 2026).
bool is_odd_rhel9(const OsIdentity& os, std::string_view os_text) {
  const auto numbers = parse_dotted_numbers(*os.version_id, 2, 2);
  return os.id == "rhel" && numbers && numbers->front() == 9 && numbers->back() % 2 == 1 &&
         os_text.ends_with(*os.version_id);
}

/// Only for an OS that has a tag, and so a VERSION_ID.
void add_os_notes(const OsIdentity& os, const OsTag& tag, const TagPolicy& policy, std::vector<std::string>& notes) {
  for (const OsNote& note : kOsNotes) {
    if (note.id == os.id && (note.version_id.empty() || note.version_id == os.version_id)) {
      notes.emplace_back(note.text);
    }
  }
  if (is_odd_rhel9(os, tag.text)) {
    notes.push_back("NVIDIA builds RHEL 9 images for even minors only (as of January 2026): " + tag.text +
                    " is not expected to appear later, and another minor's image is no drop-in");
  }
  const auto& version = policy.operator_version;
  const bool stumbles = version && is_at_least(*version, "26.3") && !is_at_least(*version, "26.3.1");
  const std::string_view major = major_text(*os.version_id);
  if (stumbles && major.find_first_not_of("0123456789") != std::string_view::npos) {
    notes.push_back("gpu-operator 26.3.0 can not read VERSION_ID " + in_quotes(*os.version_id) +
                    ": one such node keeps the whole ClusterPolicy notReady (issue 2239, fixed in 26.3.1)");
  }
}

}  // namespace

Result<Tag> compute_tag(const Fact<DriverVersion>& driver, const Fact<KernelRelease>& kernel,
                        const Fact<OsIdentity>& os, const TagPolicy& policy) {
  Missing missing;
  Tag tag;
  tag.driver = driver_part(driver, policy.driver_part, missing);
  tag.kernel = kernel_part(kernel, missing);
  const OsTag os_text = os_part(os, policy, missing);
  if (missing.code) {
    return fail(*missing.code, "no tag: " + missing.text);
  }
  tag.os = os_text.text;
  tag.os_rule = os_text.rule;
  tag.text = tag.driver + "-" + tag.kernel + "-" + tag.os;
  if (tag.text.size() > kMaxTag) {
    return fail(ErrorCode::TooLarge, "no tag: " + in_quotes(tag.text) + " has " + std::to_string(tag.text.size()) +
                                         " characters, and a registry takes at most " + std::to_string(kMaxTag));
  }
  add_kernel_notes(tag.kernel, tag.notes);
  add_flavour_note(*os, *kernel, tag.notes);
  add_os_notes(*os, os_text, policy, tag.notes);
  return tag;
}

}  // namespace gpuskew
