// NVML and CUDA refuse to work with a module of another version. The loaded module outlives a package upgrade until
// the reboot, so three versions matter: loaded, library, and the module file the next load would take.

#include <algorithm>

#include "core/rules/rules.h"

namespace gpuskew::rules {
namespace {

bool container_is_mounted(const Snapshot& snapshot) {
  return snapshot.driver_container.is_known() && snapshot.driver_container->mounted;
}

// Libraries that belong to the loaded module: the driver container's when it is mounted, else the host's.
std::vector<const Library*> relevant(const Snapshot& snapshot) {
  std::vector<const Library*> host;
  std::vector<const Library*> container;
  for (const Library& library : snapshot.libraries.value()) {
    (library.root == DriverRoot::Container ? container : host).push_back(&library);
  }
  return container_is_mounted(snapshot) ? container : host;
}

struct Reboot {
  RebootHelps helps;
  std::string why;
};

Reboot reboot_for(const Scene& scene, const Library& library) {
  const auto& file = scene.snapshot.module_file;
  const DriverVersion& loaded = scene.snapshot.loaded_driver.value();
  if (library.root == DriverRoot::Container) {
    return {RebootHelps::Unknown, "the driver container loads its own module after a boot"};
  }
  if (file.is_absent()) {
    return {RebootHelps::No,
            "no nvidia module file exists for " + kernel_text(scene) + ": a reboot would lose the GPU"};
  }
  if (file.is_unknown()) {
    return {RebootHelps::Unknown, "the module file on disk is unknown, because " + file.why().what};
  }
  if (!file->version.is_known()) {
    return {RebootHelps::Unknown,
            "the version of " + file->path + " is unknown" +
                (file->version.is_unknown() ? ", because " + file->version.why().what : std::string())};
  }
  const DriverVersion& disk = file->version.value();
  if (disk == library.version) {
    return {RebootHelps::Yes, "the module file on disk is " + disk.text() + ", as the library"};
  }
  if (disk == loaded) {
    return {RebootHelps::No, "the module file on disk is still " + disk.text() + ": rebuild it first"};
  }
  return {RebootHelps::No, "the module file on disk is " + disk.text() + ", neither the library's nor the loaded one"};
}

std::string next_step(const Scene& scene, const Library& library, RebootHelps helps) {
  const std::string node = shell_word(scene.snapshot.node);
  const std::string kernel =
      scene.snapshot.kernel.is_known() ? shell_word(scene.snapshot.kernel->text()) : "\"$(uname -r)\"";
  if (library.root == DriverRoot::Container) {
    return "kubectl get pods -A -o wide --field-selector spec.nodeName=" + node + " | grep nvidia-driver";
  }
  if (helps == RebootHelps::Yes) {
    return "kubectl drain " + node + " --ignore-daemonsets && ssh " + node + " sudo reboot";
  }
  return "ssh " + node + " 'sudo dkms autoinstall -k " + kernel + " && modinfo -F version nvidia'";
}

Ruling mismatch(const Scene& scene, const Library& library) {
  const auto& loaded = scene.snapshot.loaded_driver;
  Finding finding = make_finding(scene, FindingCode::DriverLibraryMismatch, Severity::Critical, scene.now);
  finding.cause =
      "the loaded nvidia module is " + loaded->text() + ", but " + library.name + " is " + library.version.text();
  finding.evidence = {seen(scene, loaded, "loaded module: " + loaded->text()),
                      Evidence{library.name + ": " + library.version.text(), library.path, scene.snapshot.taken_at}};
  const auto& file = scene.snapshot.module_file;
  if (file.is_known()) {
    finding.evidence.push_back(seen(scene, file,
                                    "module file on disk (" + file->path + "): " +
                                        (file->version.is_known() ? file->version->text() : "version unknown")));
  } else {
    finding.evidence.push_back(seen(scene, file,
                                    file.is_absent() ? "no nvidia module file for " + kernel_text(scene)
                                                     : "module file unknown, because " + file.why().what));
  }
  Reboot reboot = reboot_for(scene, library);
  finding.reboot_helps = reboot.helps;
  finding.reboot_why = std::move(reboot.why);
  finding.next_step = next_step(scene, library, finding.reboot_helps);
  finding.consequences = {"programs that already use the GPU go on",
                          "new ones fail: NVML says \"Driver/library version mismatch\""};
  std::string why = finding.cause;
  return Ruling{NodeState::Broken, std::move(why), std::move(finding), std::nullopt};
}

}  // namespace

std::optional<Ruling> libraries(const Scene& scene) {
  const auto& found = scene.snapshot.libraries;
  if (found.is_unknown()) {
    return Ruling{NodeState::Unknown,
                  "whether the libraries agree with the loaded module is unknown, because " + found.why().what,
                  std::nullopt, std::nullopt};
  }
  if (found.is_absent()) {
    return std::nullopt;
  }
  const std::vector<const Library*> ours = relevant(scene.snapshot);
  if (ours.empty() && container_is_mounted(scene.snapshot)) {
    return Ruling{NodeState::Unknown,
                  "a driver container is mounted at " + scene.snapshot.driver_container->root +
                      " and no library was found in it, so whether it agrees with the loaded module is unknown",
                  std::nullopt, std::nullopt};
  }
  for (const Library* library : ours) {
    if (library->version != scene.snapshot.loaded_driver.value()) {
      return mismatch(scene, *library);
    }
  }
  return std::nullopt;
}

}  // namespace gpuskew::rules
