#include "agent/probes/kernel_modules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/snapshot.h"

namespace gpuskew {
namespace {

constexpr const char* kModuleList = "/proc/modules";
constexpr const char* kModules = "/sys/module";
constexpr std::size_t kMaxModuleList = 1u << 20;
constexpr std::size_t kMaxTaints = 32;

// NVIDIA's driver and what is built on it; its rivals for the device; what hands a device to virtual machines; Jetson's
// driver. nvidiafb, nvidia_cspmu and i2c_nvidia_gpu bear the name and are none of these.
constexpr std::array<std::string_view, 18> kNames{
    "nvidia",
    "nvidia_uvm",
    "nvidia_modeset",
    "nvidia_drm",
    "nvidia_peermem",
    "nvidia_fs",
    "nvidia_p2p",
    "nv_peer_mem",
    "gdrdrv",
    "nouveau",
    "nova_core",
    "nova_drm",
    "vfio_pci",
    "vfio_pci_core",
    "nvidia_vgpu_vfio",
    "nvgpu",
    "nvgrace_gpu_vfio_pci",
    "nvidia_vgpu_mgr",
};

bool is_ours(std::string_view name) {
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// The next word of a line, which loses it; "" at its end.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

// "-" where the kernel can not unload modules, "-1" while it unloads this one.
std::optional<std::uint32_t> refcount_of(std::string_view word) {
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  return error == std::errc() && end == word.data() + word.size() ? std::optional(count) : std::nullopt;
}

bool is_module_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

// "nvidia_uvm,nvidia_modeset,"; "-" for none. "[permanent]" is no module.
std::vector<std::string> users_of(std::string_view word) {
  std::vector<std::string> users;
  while (!word.empty() && word != "-" && users.size() < KernelModule::kMaxUsers) {
    const std::string_view name = word.substr(0, word.find(','));
    word.remove_prefix(std::min(word.size(), name.size() + 1));
    if (is_module_name(name)) {
      users.emplace_back(name);
    }
  }
  return users;
}

ModuleState state_of(std::string_view word) {
  if (word == "Live") {
    return ModuleState::Live;
  }
  if (word == "Loading") {
    return ModuleState::Loading;
  }
  return word == "Unloading" ? ModuleState::Unloading : ModuleState::Unknown;
}

// "(POE)", "(OE-)"; nothing for a module that taints nothing.
std::string taints_of(std::string_view word) {
  if (!word.starts_with('(') || !word.ends_with(')') || word.size() > kMaxTaints) {
    return "";
  }
  word = word.substr(1, word.size() - 2);
  const bool plain = std::all_of(word.begin(), word.end(), [](char c) { return c >= '!' && c <= '~'; });
  return plain ? std::string(word) : "";
}

// "nvidia 14000000 3 nvidia_uvm, Live 0x0000000000000000 (OE)", its name already taken.
Result<KernelModule> parse_line(std::string_view name, std::string_view rest) {
  KernelModule module;
  module.name = name;
  next_word(rest);  // its size
  module.refcount = refcount_of(next_word(rest));
  module.used_by = users_of(next_word(rest));
  const std::string_view state = next_word(rest);
  if (state.empty()) {
    return fail(ErrorCode::Malformed,
                std::string("reading ") + kModuleList + ": the line of module " + module.name + " has no state");
  }
  module.state = state_of(state);
  next_word(rest);  // its address
  module.taints = taints_of(next_word(rest));
  return module;
}

// Without proc/modules: only a sysfs that shows modules and none of ours proves that there is none.
Fact<std::vector<KernelModule>> modules_without_list(const HostRoot& root, const Error& why) {
  using Modules = Fact<std::vector<KernelModule>>;
  const auto directories = root.list(kModules);
  if (why.code != ErrorCode::NotFound || !directories || directories->empty()) {
    return Modules::unknown(why, kModuleList);
  }
  const auto ours =
      std::find_if(directories->begin(), directories->end(), [](const auto& entry) { return is_ours(entry.name); });
  return ours == directories->end() ? Modules::known({}, kModules) : Modules::unknown(why, kModuleList);
}

}  // namespace

Result<std::vector<KernelModule>> parse_kernel_modules(std::string_view text) {
  std::vector<KernelModule> modules;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view name = next_word(line);
    if (!is_ours(name)) {
      continue;
    }
    auto module = parse_line(name, line);
    if (!module) {
      return tl::unexpected(module.error());
    }
    if (modules.size() == Snapshot::kMaxModules) {
      return fail(ErrorCode::TooLarge, std::string("reading ") + kModuleList + ": more than " +
                                           std::to_string(Snapshot::kMaxModules) + " modules of GPUs");
    }
    modules.push_back(std::move(*module));
  }
  return modules;
}

void ModuleStates::date(const HostRoot& root, std::vector<KernelModule>& modules, Time now) {
  std::map<std::string, Seen> seen;
  for (KernelModule& module : modules) {
    if (module.state == ModuleState::Live) {
      continue;
    }
    const auto directory = root.status(std::string(kModules) + "/" + module.name);
    Seen current{module.state, directory ? directory->inode : 0, now};
    const auto before = seen_.find(module.name);
    if (before != seen_.end() && before->second.state == current.state &&
        before->second.directory == current.directory) {
      current.since = std::min(before->second.since, now);
    }
    module.state_since = current.since;
    seen.emplace(module.name, current);
  }
  seen_ = std::move(seen);
}

Fact<std::vector<KernelModule>> read_kernel_modules(const HostRoot& root, ModuleStates& states, Time now) {
  const auto text = root.read(kModuleList, kMaxModuleList);
  if (!text) {
    return modules_without_list(root, text.error());
  }
  auto modules = parse_kernel_modules(*text);
  if (!modules) {
    return Fact<std::vector<KernelModule>>::unknown(modules.error(), kModuleList);
  }
  states.date(root, *modules, now);
  return Fact<std::vector<KernelModule>>::known(std::move(*modules), kModuleList);
}

}  // namespace gpuskew
