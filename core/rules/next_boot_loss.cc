// The next boot would lose the GPU, and nobody has noticed yet: the finding.

#include <algorithm>

#include "core/rules/next_boot.h"

namespace gpuskew::rules {
namespace {

bool is_running(const Scene& scene, const KernelRelease& kernel) {
  return scene.snapshot.kernel.is_known() && scene.snapshot.kernel.value() == kernel;
}

// What is lost already, or never was there, has a finding of its own.
bool is_told_elsewhere(const Scene& scene, const Forecast& forecast) {
  const Snapshot& s = scene.snapshot;
  if (!s.loaded_driver.is_known() && scene.last_good == nullptr) {
    return true;
  }
  if (!forecast.kernel || !is_running(scene, *forecast.kernel)) {
    return false;
  }
  return !s.loaded_driver.is_known() || forecast.obstacle == Obstacle::OtherVersion ||
         forecast.obstacle == Obstacle::NoImage;
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

bool is_rpm_family(const KernelRelease& kernel) {
  return kernel.text().find(".el") != std::string::npos || kernel.text().find(".fc") != std::string::npos;
}

std::string build_command(const Scene& scene, const KernelRelease& kernel) {
  const std::string release = shell_word(kernel.text());
  if (const std::string package = prebuilt_package(scene, kernel); !package.empty()) {
    return "sudo apt-get install " + shell_word(package);
  }
  if (has_akmods(scene)) {
    return "sudo akmods --force --kernels " + release;
  }
  const InstalledKernel* found = installed(scene, kernel);
  std::string headers;
  if (found != nullptr && !found->has_headers) {
    headers = is_rpm_family(kernel) ? "sudo dnf install " + shell_word("kernel-devel-" + kernel.text()) + " && "
                                    : "sudo apt-get install " + shell_word("linux-headers-" + kernel.text()) + " && ";
  }
  return headers + "sudo dkms autoinstall -k " + release;
}

std::string next_step(const Scene& scene, const Forecast& forecast) {
  const std::string node = shell_word(scene.snapshot.node);
  if (forecast.obstacle == Obstacle::NoImage) {
    return "gpuskew tag " + node + "   # build " + forecast.image + " before the node restarts";
  }
  // Without one kernel to name: what is there, first.
  if (!forecast.kernel) {
    return on_node(scene, "dkms status");
  }
  const DkmsEntry* entry = dkms_entry(scene, *forecast.kernel);
  const std::string release = shell_word(forecast.kernel->text());
  if (forecast.obstacle == Obstacle::BuildFailed && entry != nullptr && entry->kernel.empty()) {
    return on_node(scene, "ls -l " + shell_word("/var/lib/dkms/" + entry->module + "/" + entry->version)) +
           "   # without a source: remove it, then dkms autoinstall -k " + release;
  }
  if (forecast.obstacle == Obstacle::BuildFailed && entry != nullptr) {
    const std::string log = entry->note.substr(0, entry->note.find(": "));
    return on_node(scene, "tail -n 40 " + shell_word(log)) + "   # until it builds, boot the old kernel";
  }
  return on_node(scene, build_command(scene, *forecast.kernel));
}

void add_evidence(const Scene& scene, const Forecast& forecast, Finding& finding) {
  const Snapshot& s = scene.snapshot;
  if (s.next_kernel.is_known()) {
    finding.evidence.push_back(
        seen(scene, s.next_kernel, "next kernel: " + s.next_kernel->release.text() + " (" + s.next_kernel->rule + ")"));
  } else {
    finding.evidence.push_back(
        seen(scene, s.next_kernel, "the next kernel is unknown, because " + s.next_kernel.why().what));
  }
  finding.evidence.push_back(seen(scene, s.kernel, "running kernel: " + kernel_text(scene)));
  if (forecast.obstacle == Obstacle::NoImage) {
    finding.evidence.push_back(
        Evidence{"driver image needed: " + forecast.image + " is missing in the matrix", "matrix", scene.now});
  } else if (forecast.kernel) {
    const InstalledKernel* found = installed(scene, *forecast.kernel);
    const Fact<ModuleFile>& file = found != nullptr ? found->module_file : s.module_file;
    finding.evidence.push_back(
        seen(scene, file,
             file.is_known() ? "module file: " + file->path : "no nvidia module file for " + forecast.kernel->text()));
    if (found != nullptr && !found->has_headers) {
      finding.evidence.push_back(seen(scene, s.kernels, "no headers for it: dkms can build nothing"));
    }
    if (const DkmsEntry* entry = dkms_entry(scene, *forecast.kernel)) {
      finding.evidence.push_back(seen(scene, s.dkms,
                                      "dkms: " + entry->module + "/" + entry->version + " " +
                                          std::string(to_string(entry->stage)) +
                                          (entry->note.empty() ? "" : ": " + entry->note)));
    }
  }
  if (s.reboot_required.is_known()) {
    finding.evidence.push_back(seen(scene, s.reboot_required, "the system asks for a reboot"));
  }
}

}  // namespace

std::optional<Finding> next_boot_loses(const Scene& scene) {
  const Forecast made = forecast(scene);
  if (made.gpu != NextBootGpu::Loses || is_told_elsewhere(scene, made)) {
    return std::nullopt;
  }
  const bool by_image = made.obstacle == Obstacle::NoImage;
  Finding finding =
      make_finding(scene, by_image ? FindingCode::ImageMissingNextKernel : FindingCode::ModuleMissingNextKernel,
                   Severity::Warning, scene.now);
  finding.cause =
      "the next boot" + (made.kernel ? " into " + made.kernel->text() : std::string()) + " loses the GPU: " + made.why;
  add_evidence(scene, made, finding);
  finding.reboot_helps = RebootHelps::No;
  finding.reboot_why = "it is the reboot that loses the GPU";
  finding.next_step = next_step(scene, made);
  finding.consequences = {"after the reboot CUDA finds no device", "the device plugin then has no GPU to offer"};
  return finding;
}

}  // namespace gpuskew::rules
