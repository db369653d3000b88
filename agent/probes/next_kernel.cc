#include "agent/probes/next_kernel.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/paths.h"
#include "agent/probes/grub.h"
#include "agent/probes/kernel_image.h"
#include "agent/probes/systemd_boot.h"

namespace gpuskew {
namespace {

constexpr const char* kCommandLine = "/proc/cmdline";
constexpr const char* kFirmware = "/sys/firmware";
constexpr const char* kEfi = "/sys/firmware/efi";
constexpr const char* kEfiVariables = "/sys/firmware/efi/efivars";
constexpr const char* kBootNext = "/sys/firmware/efi/efivars/BootNext-8be4df61-93ca-11d2-aa0d-00e098032b8c";
constexpr const char* kBootCurrent = "/sys/firmware/efi/efivars/BootCurrent-8be4df61-93ca-11d2-aa0d-00e098032b8c";
constexpr std::array<std::string_view, 2> kGrubConfigs = {"/boot/grub/grub.cfg", "/boot/grub2/grub.cfg"};
// Loaders that are not read: who finds one of these files can not say what boots.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kOtherLoaders{{
    {"/boot/extlinux/extlinux.conf", "extlinux"},
    {"/boot/syslinux/syslinux.cfg", "syslinux"},
    {"/boot/limine.conf", "limine"},
    {"/boot/efi/EFI/refind/refind.conf", "rEFInd"},
    {"/boot/EFI/refind/refind.conf", "rEFInd"},
    {"/boot/grub/menu.lst", "grub 0.9"},
    {"/etc/lilo.conf", "lilo"},
    {"/boot/boot.scr", "U-Boot"},
}};
constexpr std::size_t kMaxLoaders = 64;
constexpr std::size_t kMaxReasons = 3;

struct Candidate {
  std::string source;  ///< the file or loader that decides
  std::string rule;
  std::string options;
  Result<KernelRelease> release;
};

struct Candidates {
  std::vector<Candidate> found;
  std::string hand_over;  ///< a configuration that leads to one that is not here; "" for none

  void fail_at(std::string source, const Error& why) {
    found.push_back(Candidate{std::move(source), "", "", tl::unexpected(why)});
  }
};

std::optional<bool> is_efi_boot(const HostRoot& root) {
  const auto efi = root.status(kEfi);
  if (efi || efi.error().code != ErrorCode::NotFound) {
    return efi ? std::optional(true) : std::nullopt;
  }
  return root.status(kFirmware) || root.status("/sys/bus") ? std::optional(false) : std::nullopt;
}

// The firmware takes another of its entries, once.
std::optional<Error> boot_next_is_set(const HostRoot& root) {
  const auto next = root.read(kBootNext);
  if (!next) {
    return next.error().code == ErrorCode::NotFound ? std::nullopt : std::optional(next.error());
  }
  const auto current = root.read(kBootCurrent);
  if (current && *current == *next) {
    return std::nullopt;
  }
  return Error{ErrorCode::Unsupported, "the firmware's BootNext is set: it takes another of its boot entries once"};
}

void add_grub(const HostRoot& root, const std::string& config, std::optional<bool> is_efi,
              std::set<std::pair<std::uint64_t, std::uint64_t>>& seen, Candidates& candidates) {
  const auto status = root.status(config);
  if (!status && status.error().code == ErrorCode::NotFound) {
    return;
  }
  if (status && !seen.emplace(status->device, status->inode).second) {
    return;  // a link to one that was read
  }
  const auto choice = read_grub_choice(root, config, is_efi);
  if (!choice) {
    candidates.fail_at(config, choice.error());
  } else if (const auto& boot = *choice) {
    candidates.found.push_back(Candidate{config, boot->rule, boot->options, read_image_release(root, boot->image)});
  } else {
    candidates.hand_over = config;
  }
}

void add_all_grubs(const HostRoot& root, std::optional<bool> is_efi, Candidates& candidates) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const std::string_view config : kGrubConfigs) {
    add_grub(root, std::string(config), is_efi, seen, candidates);
  }
  if (is_efi == false) {
    return;
  }
  for (const std::string_view partition : kBootPartitions) {
    const std::string loaders = std::string(partition) + "/EFI";
    const auto listed = root.list(loaders, kMaxLoaders);
    if (!listed) {
      if (listed.error().code != ErrorCode::NotFound) {
        candidates.fail_at(loaders, listed.error());
      }
      continue;
    }
    for (const auto& entry : *listed) {
      add_grub(root, loaders + "/" + entry.name + "/grub.cfg", is_efi, seen, candidates);
    }
  }
}

void add_systemd_boot(const HostRoot& root, Candidates& candidates) {
  std::string rule;
  const auto entry = read_systemd_boot_choice(root, rule);
  if (!entry) {
    candidates.fail_at("systemd-boot", entry.error());
    return;
  }
  Candidate candidate{entry->file, std::move(rule), entry->options, read_image_release(root, entry->image)};
  if (entry->is_unified) {
    const auto image = read_unified_image(root, entry->image);
    candidate.release = image ? Result<KernelRelease>(image->release) : tl::unexpected(image.error());
  }
  candidates.found.push_back(std::move(candidate));
}

// Which loaders may be the one in use. LoaderInfo is what the loader of this boot called itself; systemd-boot always
// does, grub since 2.12.
struct Loaders {
  bool grub = true;
  bool systemd_boot = true;
};

Result<Loaders> loaders_in_use(const HostRoot& root, std::optional<bool> is_efi) {
  Loaders loaders;
  if (is_efi == false) {
    loaders.systemd_boot = false;
    return loaders;
  }
  const auto info = read_loader_variable(root, "LoaderInfo");
  if (info) {
    loaders.systemd_boot = info->starts_with("systemd-boot");
    loaders.grub = info->starts_with("GRUB");
    if (!loaders.systemd_boot && !loaders.grub) {
      return fail(ErrorCode::Unsupported, "the boot loader calls itself " + in_quotes(*info) + ", which is not read");
    }
    return loaders;
  }
  const auto variables = root.list(kEfiVariables);
  loaders.systemd_boot = has_systemd_boot(root) && (!variables || variables->empty());
  return loaders;
}

bool has_images(const HostRoot& root) {
  const auto files = root.list(kBootPartitions.front());
  return files && std::any_of(files->begin(), files->end(), [](const auto& file) { return is_image_name(file.name); });
}

// Nothing was found. Is that sure to be all?
Fact<NextKernel> without_configuration(const HostRoot& root, std::optional<bool> is_efi, const Candidates& candidates) {
  const std::string where(kBootPartitions.front());
  const auto unknown = [&where](std::string why) {
    return Fact<NextKernel>::unknown({ErrorCode::Unsupported, std::move(why)}, where);
  };
  if (!candidates.hand_over.empty()) {
    return unknown(candidates.hand_over + " leads to a configuration that is not here");
  }
  for (const auto& [file, loader] : kOtherLoaders) {
    if (root.status(file)) {
      return unknown("there is a configuration of " + std::string(loader) + " (" + std::string(file) +
                     "), which is not read");
    }
  }
  if (is_efi.value_or(true)) {
    return unknown(is_efi
                       ? "no boot loader's configuration is to be seen on a machine that boots by EFI; its partition "
                         "may not be mounted"
                       : "no boot loader's configuration is to be seen, and sys says nothing of the firmware");
  }
  if (has_images(root)) {
    return unknown("/boot holds kernels and no boot loader's configuration");
  }
  return Fact<NextKernel>::absent(where);
}

NextBootEntry agreed(const HostRoot& root, const std::vector<Candidate>& candidates) {
  const Candidate& first = candidates.front();
  std::string rules;
  bool differ = false;
  for (const Candidate& candidate : candidates) {
    if (!candidate.release) {
      return {Fact<NextKernel>::unknown(candidate.release.error(), candidate.source)};
    }
    differ = differ || !(*candidate.release == *first.release);
    rules += (rules.empty() ? "" : "; ") + candidate.rule;
  }
  if (differ) {
    std::string all;
    for (std::size_t index = 0; index < std::min(candidates.size(), kMaxReasons); ++index) {
      all += (all.empty() ? "" : ", ") + candidates[index].release->text() + " by " + candidates[index].source;
    }
    return {Fact<NextKernel>::unknown(
        {ErrorCode::Unsupported, "several boot loaders are set up and name different kernels: " + all}, first.source)};
  }
  const auto running = root.read(kCommandLine);
  NextBootEntry entry{Fact<NextKernel>::known(NextKernel{*first.release, std::move(rules)}, first.source)};
  for (const Candidate& candidate : candidates) {
    const std::string deployment = ostree_deployment(candidate.options);
    entry.is_other_deployment =
        entry.is_other_deployment || (!deployment.empty() && deployment != ostree_deployment(running.value_or("")));
  }
  return entry;
}

}  // namespace

std::string ostree_deployment(std::string_view command_line) {
  constexpr std::string_view kKey = "ostree=";
  while (!command_line.empty()) {
    const std::size_t end = std::min(command_line.find_first_of(" \n"), command_line.size());
    const std::string_view word = command_line.substr(0, end);
    if (word.starts_with(kKey)) {
      return std::string(word.substr(kKey.size()));
    }
    command_line.remove_prefix(std::min(end + 1, command_line.size()));
  }
  return {};
}

NextBootEntry read_next_boot_entry(const HostRoot& root) {
  const std::string where(kBootPartitions.front());
  const std::optional<bool> is_efi = is_efi_boot(root);
  if (is_efi != false) {
    if (auto error = boot_next_is_set(root)) {
      return {Fact<NextKernel>::unknown(std::move(*error), kBootNext)};
    }
  }
  const auto loaders = loaders_in_use(root, is_efi);
  if (!loaders) {
    return {Fact<NextKernel>::unknown(loaders.error(), kEfiVariables)};
  }
  Candidates candidates;
  if (loaders->grub) {
    add_all_grubs(root, is_efi, candidates);
  }
  if (loaders->systemd_boot) {
    add_systemd_boot(root, candidates);
  }
  if (candidates.found.empty()) {
    return {without_configuration(root, is_efi, candidates)};
  }
  return agreed(root, candidates.found);
}

}  // namespace gpuskew
