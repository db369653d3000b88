#include "core/rules/remedy.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/rules/next_boot.h"

namespace gpuskew::rules {
namespace {

template <std::size_t kSize>
bool is_one_of(std::string_view id, const std::array<std::string_view, kSize>& ids) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// Another kernel's prebuilt module tells the package's name: kernel/nvidia-535srv-open/nvidia.ko comes from
// linux-modules-nvidia-535-server-open-<release>. "" where no kernel has one.
std::string prebuilt_package(const Scene& scene, const KernelRelease& kernel) {
  if (!scene.snapshot.kernels.is_known()) {
    return {};
  }
  for (const InstalledKernel& other : scene.snapshot.kernels.value()) {
    if (!other.module_file.is_known() || module_home(other.module_file->path) != ModuleHome::Prebuilt) {
      continue;
    }
    constexpr std::string_view kFolder = "/kernel/nvidia-";
    std::string branch = other.module_file->path.substr(other.module_file->path.find(kFolder) + kFolder.size());
    branch.erase(std::min(branch.find('/'), branch.size()));
    if (const std::size_t server = branch.find("srv"); server != std::string::npos) {
      branch.replace(server, 3, "-server");
    }
    return "linux-modules-nvidia-" + branch + "-" + kernel.text();
  }
  return {};
}

bool has_akmods(const Scene& scene) {
  const auto& installs = scene.snapshot.installs;
  return installs.is_known() && std::any_of(installs->begin(), installs->end(),
                                            [](const InstallTrace& trace) { return trace.kind == InstallKind::Akmod; });
}

bool comes_with_the_image(const Scene& scene) {
  const auto& installs = scene.snapshot.installs;
  const bool is_traced =
      installs.is_known() && std::any_of(installs->begin(), installs->end(), [](const InstallTrace& trace) {
        return trace.kind == InstallKind::OsImage && trace.part == InstallPart::KernelModule;
      });
  return is_traced || system_family(scene) == SystemFamily::Image;
}

std::string headers_command(const Scene& scene, const KernelRelease& kernel) {
  const InstalledKernel* found = installed(scene, kernel);
  if (found == nullptr || found->has_headers) {
    return {};
  }
  switch (system_family(scene)) {
    case SystemFamily::Debian:
      return "sudo apt-get install " + shell_word("linux-headers-" + kernel.text()) + " && ";
    case SystemFamily::RedHat:
      return "sudo dnf install " + shell_word("kernel-devel-" + kernel.text()) + " && ";
    case SystemFamily::Suse:
      return "sudo zypper install kernel-default-devel && ";
    case SystemFamily::Arch:
      return "sudo pacman -S linux-headers && ";
    case SystemFamily::Image:
    case SystemFamily::Other:
      return {};
  }
  return {};
}

std::string build_command(const Scene& scene, const KernelRelease& kernel) {
  const std::string release = shell_word(kernel.text());
  if (const std::string package = prebuilt_package(scene, kernel); !package.empty()) {
    return "sudo apt-get install " + shell_word(package);
  }
  if (has_akmods(scene)) {
    return "sudo akmods --force --kernels " + release;
  }
  const DkmsEntry* entry = dkms_entry(scene, kernel);
  if (entry != nullptr && entry->stage == DkmsStage::Installed) {
    return headers_command(scene, kernel) + forced_install(*entry, release);
  }
  return headers_command(scene, kernel) + "sudo dkms autoinstall -k " + release;
}

bool is_failed(const DkmsEntry* entry) {
  return entry != nullptr && (entry->stage == DkmsStage::Failed || entry->stage == DkmsStage::Broken);
}

}  // namespace

SystemFamily system_family(const Scene& scene) {
  constexpr std::array<std::string_view, 3> kDebian{"ubuntu", "debian", "linuxmint"};
  constexpr std::array<std::string_view, 11> kRedHat{"rhel", "fedora", "centos",     "rocky",   "almalinux", "ol",
                                                     "amzn", "photon", "azurelinux", "mariner", "openEuler"};
  constexpr std::array<std::string_view, 4> kArch{"arch", "manjaro", "endeavouros", "cachyos"};
  constexpr std::array<std::string_view, 5> kImage{"talos", "bottlerocket", "cos", "flatcar", "rhcos"};
  const auto& os = scene.snapshot.os;
  if (!os.is_known()) {
    const std::string kernel = kernel_text(scene);
    const bool is_red_hat = kernel.find(".el") != std::string::npos || kernel.find(".fc") != std::string::npos;
    return is_red_hat ? SystemFamily::RedHat : SystemFamily::Other;
  }
  if (is_one_of(os->id, kDebian)) {
    return SystemFamily::Debian;
  }
  if (is_one_of(os->id, kRedHat)) {
    return SystemFamily::RedHat;
  }
  if (os->id.starts_with("sle") || os->id.starts_with("opensuse")) {
    return SystemFamily::Suse;
  }
  if (is_one_of(os->id, kArch)) {
    return SystemFamily::Arch;
  }
  return is_one_of(os->id, kImage) ? SystemFamily::Image : SystemFamily::Other;
}

std::string initramfs_command(const Scene& scene) {
  switch (system_family(scene)) {
    case SystemFamily::RedHat:
    case SystemFamily::Suse:
      return "sudo dracut -f";
    case SystemFamily::Arch:
      return "sudo mkinitcpio -P";
    case SystemFamily::Debian:
    case SystemFamily::Image:
    case SystemFamily::Other:
      return "sudo update-initramfs -u";
  }
  return "sudo update-initramfs -u";
}

std::string failed_build(const Scene& scene, const KernelRelease& kernel) {
  const DkmsEntry* entry = dkms_entry(scene, kernel);
  if (!is_failed(entry)) {
    return {};
  }
  const std::string what = entry->module + "/" + entry->version;
  return (entry->stage == DkmsStage::Broken ? "dkms' own tree is broken at " + what : "dkms could not build " + what) +
         (entry->note.empty() ? std::string() : " (" + entry->note + ")");
}

std::string forced_install(const DkmsEntry& entry, const std::string& kernel) {
  return "sudo dkms install --force " + shell_word(entry.module + "/" + entry.version) + " -k " + kernel;
}

std::string module_step(const Scene& scene, const KernelRelease& kernel, const std::string& then) {
  if (comes_with_the_image(scene)) {
    return "# the driver comes with this system's image: boot an image, or add its NVIDIA extension, made for " +
           kernel.text();
  }
  const DkmsEntry* entry = dkms_entry(scene, kernel);
  if (is_failed(entry) && entry->kernel.empty()) {
    return on_node(scene, "ls -l " + shell_word("/var/lib/dkms/" + entry->module + "/" + entry->version)) +
           "   # without a source: remove it, then dkms autoinstall -k " + shell_word(kernel.text());
  }
  if (is_failed(entry)) {
    const std::string log = entry->note.substr(0, entry->note.find(": "));
    return on_node(scene, "tail -n 40 " + shell_word(log)) + "   # until it builds, boot the old kernel";
  }
  return on_node(scene, build_command(scene, kernel) + (then.empty() ? "" : " && " + then));
}

}  // namespace gpuskew::rules
