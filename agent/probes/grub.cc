#include "agent/probes/grub.h"

#include <utility>

#include "agent/paths.h"
#include "agent/probes/grub_config.h"

namespace gpuskew {
namespace {

GrubSurroundings surroundings_of(const HostRoot& root, const std::string& config, std::optional<bool> is_efi) {
  GrubSurroundings surroundings;
  surroundings.directory = config.substr(0, config.rfind('/'));
  surroundings.is_efi = is_efi;
  surroundings.read = [&root, directory = surroundings.directory](const std::string& path) -> Result<std::string> {
    if (!path.starts_with(directory + "/")) {
      return fail(ErrorCode::Unsupported, "it reads " + in_quotes(path) + ", which may be on another disk");
    }
    return root.read(path, kMaxGrubConfig);
  };
  surroundings.loader_entries = [&root]() -> Result<std::vector<LoaderEntry>> {
    auto entries = read_loader_entries(root, std::string(kBootPartitions.front()));
    if (entries) {
      sort_as_blscfg(*entries);
    }
    return entries;
  };
  return surroundings;
}

// The one kernel of an entry, whichever of its branches runs.
Result<std::string> kernel_of(const GrubEntry& entry) {
  const std::string name = "its entry " + in_quotes(entry.title);
  if (entry.leaves_grub) {
    return fail(ErrorCode::Unsupported, name + " starts another boot loader, or leaves it to the firmware");
  }
  if (entry.kernels.empty()) {
    return fail(ErrorCode::Unsupported, name + " starts no Linux kernel");
  }
  for (const GrubValue& kernel : entry.kernels) {
    if (!kernel.is_known) {
      return fail(ErrorCode::Unsupported, name + " has a kernel that depends on what no file says");
    }
    if (kernel.text != entry.kernels.front().text) {
      return fail(ErrorCode::Unsupported, name + " starts one of several kernels");
    }
  }
  return entry.kernels.front().text;
}

std::string rule_of(const GrubConfig& config, const GrubChoice& choice, const std::string& file) {
  if (config.chosen.text.empty()) {
    return (config.uses_blscfg ? "newest entry of /boot/loader/entries, by " : "first entry of ") + file;
  }
  const std::string by = config.chosen_by == "grub.cfg" ? "default of " + file : config.chosen_by;
  return choice.is_fallback ? "first entry of " + file + ", because " + by + " names one that is not there" : by;
}

}  // namespace

std::string image_beneath(const HostRoot& root, const std::string& path) {
  std::string local = path;
  // A subvolume's name stands before the path that the running system knows: "/@/boot/vmlinuz-...".
  constexpr std::string_view kBoot = "/boot/";
  if (const std::size_t boot = path.find(kBoot); boot != std::string::npos) {
    local = path.substr(boot);
  }
  const bool from_root = local.starts_with(kBoot);
  for (const std::string& candidate : {from_root ? local : std::string(kBootPartitions.front()) + local, local}) {
    if (candidate.starts_with('/') && root.status(candidate)) {
      return candidate;
    }
  }
  return {};
}

Result<std::optional<BootChoice>> read_grub_choice(const HostRoot& root, const std::string& config,
                                                   std::optional<bool> is_efi) {
  const auto text = root.read(config, kMaxGrubConfig);
  if (!text) {
    return tl::unexpected(text.error());
  }
  const auto run = run_grub_config(*text, surroundings_of(root, config, is_efi));
  if (!run) {
    return fail("following " + config, run.error());
  }
  if (!run->other_file.empty()) {
    return std::nullopt;
  }
  if (!run->chosen.is_known) {
    return fail(ErrorCode::Unsupported, "the default entry of " + config +
                                            " depends on what no file says (an environment block that can not be "
                                            "read, the firmware)");
  }
  const auto choice = default_entry(run->menu, run->chosen.text);
  if (!choice) {
    return fail("following " + config, choice.error());
  }
  const auto kernel = kernel_of(*choice->entry);
  if (!kernel) {
    return fail("following " + config, kernel.error());
  }
  BootChoice boot{image_beneath(root, *kernel), choice->entry->options, rule_of(*run, *choice, config)};
  if (boot.image.empty()) {
    return fail(ErrorCode::NotFound, config + " boots " + in_quotes(*kernel) + ", which is not there");
  }
  return boot;
}

}  // namespace gpuskew
