// The next boot would lose the GPU, and nobody has noticed yet: the finding.

#include <algorithm>

#include "core/rules/next_boot.h"
#include "core/rules/remedy.h"

namespace gpuskew::rules {
namespace {

bool is_running(const Scene& scene, const KernelRelease& kernel) {
  return scene.snapshot.kernel.is_known() && scene.snapshot.kernel.value() == kernel;
}

// What is lost already, or never was there, has a finding of its own.
bool is_told_elsewhere(const Scene& scene, const Forecast& forecast) {
  const Snapshot& s = scene.snapshot;
  if (!s.loaded_driver.is_known() && scene.last_good == nullptr) {
    // An image that was never booted has nothing that could be lost elsewhere.
    return s.kernel.is_known();
  }
  if (!forecast.kernel || !is_running(scene, *forecast.kernel)) {
    return false;
  }
  return !s.loaded_driver.is_known() || forecast.obstacle == Obstacle::OtherVersion ||
         forecast.obstacle == Obstacle::NoImage;
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
  return module_step(scene, *forecast.kernel, "");
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
