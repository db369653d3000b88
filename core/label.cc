#include "core/label.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuskew {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_alphanumeric(char c) {
  return is_digit(c) || is_lower(c) || is_upper(c);
}
bool is_label_character(char c) {
  return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
}

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

/// The numbers in front of `text`, at most `most` of them, between dots; `text` is left with what follows.
std::vector<std::string_view> take_dotted_digits(std::string_view& text, std::size_t most) {
  std::vector<std::string_view> parts;
  std::string_view rest = text;
  while (parts.size() < most) {
    const std::string_view digits = take_digits(rest);
    if (digits.empty()) {
      break;
    }
    parts.push_back(digits);
    text = rest;
    if (!rest.starts_with('.')) {
      break;
    }
    rest.remove_prefix(1);
  }
  return parts;
}

void put(Labels& labels, std::string key, std::string_view value) {
  if (is_label_value(value)) {
    labels.insert_or_assign(std::move(key), std::string(value));
  }
}

}  // namespace

bool is_label_value(std::string_view value) {
  if (value.empty()) {
    return true;
  }
  return value.size() <= kMaxLabelValue && is_alphanumeric(value.front()) && is_alphanumeric(value.back()) &&
         std::all_of(value.begin(), value.end(), is_label_character);
}

std::string nfd_kernel_form(const KernelRelease& kernel) {
  std::string form = kernel.text();
  std::replace_if(
      form.begin(), form.end(), [](char c) { return !is_label_character(c); }, '_');
  constexpr std::string_view kTrimmed = "-_.";
  const auto last = form.find_last_not_of(kTrimmed);
  form.erase(last == std::string::npos ? 0 : last + 1);
  form.erase(0, form.find_first_not_of(kTrimmed));
  return form;
}

Result<std::string> kernel_label(const KernelRelease& kernel) {
  std::string form = nfd_kernel_form(kernel);
  if (form.size() > kMaxLabelValue) {
    return fail(ErrorCode::TooLarge, "kernel " + in_quotes(form) + " has " + std::to_string(form.size()) +
                                         " characters, and a label value holds at most " +
                                         std::to_string(kMaxLabelValue));
  }
  return form;
}

Labels kernel_labels(const KernelRelease& kernel) {
  const std::string prefix = "feature.node.kubernetes.io/kernel-version.";
  const std::string form = nfd_kernel_form(kernel);
  Labels labels;
  if (!form.empty()) {
    put(labels, prefix + "full", form);
  }
  constexpr std::array<std::string_view, 3> kParts{"major", "minor", "revision"};
  std::string_view rest = form;
  const auto numbers = take_dotted_digits(rest, kParts.size());
  if (!rest.empty() && rest.front() != '-') {
    return labels;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    put(labels, prefix + std::string(kParts.at(i)), numbers[i]);
  }
  return labels;
}

Labels os_labels(const OsIdentity& os) {
  const std::string prefix = "feature.node.kubernetes.io/system-os_release.";
  Labels labels;
  if (!os.id.empty()) {
    put(labels, prefix + "ID", os.id);
  }
  if (!os.version_id || os.version_id->empty()) {
    return labels;
  }
  put(labels, prefix + "VERSION_ID", *os.version_id);
  constexpr std::array<std::string_view, 2> kParts{"major", "minor"};
  std::string_view rest = *os.version_id;
  const auto numbers = take_dotted_digits(rest, kParts.size());
  if (!rest.empty() && rest.front() != '.') {
    return labels;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    put(labels, prefix + "VERSION_ID." + std::string(kParts.at(i)), numbers[i]);
  }
  return labels;
}

Labels driver_labels(const DriverVersion& driver) {
  Labels labels;
  put(labels, "nvidia.com/cuda.driver-version.full", driver.text());
  put(labels, "nvidia.com/cuda.driver-version.major", driver.branch());
  put(labels, "nvidia.com/cuda.driver-version.minor", driver.minor_text());
  put(labels, "nvidia.com/cuda.driver-version.revision", driver.revision_text());
  put(labels, "nvidia.com/cuda.driver.major", driver.branch());
  put(labels, "nvidia.com/cuda.driver.minor", driver.minor_text());
  put(labels, "nvidia.com/cuda.driver.rev", driver.revision_text());
  return labels;
}

std::string operator_object_form(std::string_view kernel_label) {
  std::string form;
  while (!kernel_label.empty()) {
    constexpr std::array<std::string_view, 4> kArchitectures{"x86_64_64k", "x86_64", "aarch64_64k", "aarch64"};
    const auto* arch = std::find_if(kArchitectures.begin(), kArchitectures.end(),
                                    [kernel_label](std::string_view name) { return kernel_label.starts_with(name); });
    if (arch != kArchitectures.end()) {
      kernel_label.remove_prefix(arch->size());
      continue;
    }
    const char c = kernel_label.front();
    form += c == '_' ? '.' : is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    kernel_label.remove_prefix(1);
  }
  if (form.ends_with('.')) {
    form.pop_back();
  }
  return form;
}

std::vector<std::string> shared_object_form_notes(const std::set<std::string, std::less<>>& kernel_labels) {
  std::map<std::string, std::vector<std::string_view>> kernels_of;
  for (const std::string& label : kernel_labels) {
    kernels_of[operator_object_form(label)].push_back(label);
  }
  std::vector<std::string> notes;
  for (const auto& [form, kernels] : kernels_of) {
    if (kernels.size() < 2) {
      continue;
    }
    std::string names;
    for (const std::string_view kernel : kernels) {
      names += names.empty() ? "" : kernel == kernels.back() ? " and " : ", ";
      names += kernel;
    }
    notes.push_back("kernels " + names + " share the gpu-operator's precompiled DaemonSet name form " + form +
                    ": it may make one node pool for them, and then nodes of one kernel get no driver pod or the "
                    "wrong image");
  }
  return notes;
}

bool is_dns_subdomain(std::string_view name) {
  constexpr std::size_t kMaxName = 253;
  if (name.empty() || name.size() > kMaxName) {
    return false;
  }
  // Every label between dots starts and ends with a letter or digit.
  char before = '.';
  for (const char c : name) {
    const bool inner = is_lower(c) || is_digit(c);
    const bool dash_in_label = c == '-' && before != '.';
    const bool dot_after_label = c == '.' && before != '.' && before != '-';
    if (!inner && !dash_in_label && !dot_after_label) {
      return false;
    }
    before = c;
  }
  return before != '.' && before != '-';
}

}  // namespace gpuskew
