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

// The operator's validator says that it hands out the host's driver. Only a mark of the driver that runs now is proof.
bool is_host_mode(const Snapshot& snapshot, bool proven) {
  if (!snapshot.validations.is_known()) {
    return false;
  }
  const auto& marks = snapshot.validations.value();
  return std::any_of(marks.begin(), marks.end(), [&](const ValidationMark& mark) {
    return mark.host_driver && (!proven || mark_age(mark, snapshot.boot_time, snapshot.kernel_log) == MarkAge::Fresh);
  });
}

// What brought the library, by its version.
std::vector<const InstallTrace*> owners(const Snapshot& snapshot, const Library& library) {
  std::vector<const InstallTrace*> found;
  if (snapshot.installs.is_known() && library.root == DriverRoot::Host) {
    for (const InstallTrace& trace : snapshot.installs.value()) {
      const auto version = driver_version(trace);
      if (trace.part == InstallPart::UserSpace && version && *version == library.version) {
        found.push_back(&trace);
      }
    }
  }
  return found;
}

struct Reboot {
  RebootHelps helps;
  std::string why;
};

Reboot reboot_for(const Scene& scene, const Library& library) {
  const auto& file = scene.snapshot.module_file;
  const DriverVersion& loaded = scene.snapshot.loaded_driver.value();
  if (library.root == DriverRoot::Container || container_is_mounted(scene.snapshot)) {
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

// apt-mark hold of the packages that an unattended upgrade moved: without it the next night does so again. "" for none.
std::string hold(const std::vector<const InstallTrace*>& moved) {
  constexpr std::size_t kMaxHeld = 12;
  std::string names;
  std::size_t count = 0;
  for (const InstallTrace* trace : moved) {
    if (trace->kind == InstallKind::Deb && trace->changed_by.find("unattended-upgrade") != std::string::npos &&
        ++count <= kMaxHeld) {
      names += " " + shell_word(trace->name);
    }
  }
  return names.empty() ? "" : "sudo apt-mark hold" + names + "; ";
}

// What runs on the node is one word of the local command, so that no name on the node can end it.
std::string next_step(const Scene& scene, const Library& library, RebootHelps helps) {
  const std::string node = shell_word(scene.snapshot.node);
  const std::string pods =
      "kubectl get pods -A -o wide --field-selector spec.nodeName=" + node + " | grep nvidia-driver";
  if (library.root == DriverRoot::Container) {
    return pods;
  }
  const auto moved = owners(scene.snapshot, library);
  if (container_is_mounted(scene.snapshot)) {
    const bool deb = !moved.empty() && moved.front()->kind == InstallKind::Deb;
    const bool rpm = !moved.empty() && moved.front()->kind == InstallKind::Rpm;
    return deb || rpm
               ? on_node(scene, (deb ? "sudo apt-get purge " : "sudo dnf remove ") + shell_word(moved.front()->name),
                         Terminal::Yes)
               : pods;
  }
  if (helps == RebootHelps::Yes) {
    return after_drain(scene, hold(moved) + "sudo reboot");
  }
  return on_node(scene, "sudo dkms autoinstall -k " + kernel_word(scene) + " && modinfo -F version nvidia");
}

void add_module_file(const Scene& scene, Finding& finding) {
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
}

// Who brought the library, and when: the change that caused it all.
void add_owners(const Scene& scene, const Library& library, Finding& finding) {
  constexpr std::size_t kMaxTold = 4;
  const auto found = owners(scene.snapshot, library);
  for (std::size_t i = 0; i < std::min(found.size(), kMaxTold); ++i) {
    const InstallTrace& trace = *found[i];
    finding.evidence.push_back(Evidence{trace.name + " " + trace.version + " brings the library" +
                                            (trace.changed_by.empty() ? "" : "; it came by " + trace.changed_by),
                                        trace.source, scene.snapshot.taken_at});
  }
}

Ruling mismatch(const Scene& scene, const Library& library) {
  const Snapshot& s = scene.snapshot;
  const auto& loaded = s.loaded_driver;
  Finding finding = make_finding(scene, FindingCode::DriverLibraryMismatch, Severity::Critical, scene.now);
  const bool two_stacks = library.root == DriverRoot::Host && container_is_mounted(s);
  finding.cause = "the loaded nvidia module is " + loaded->text() +
                  (two_stacks ? " from the driver container at " + s.driver_container->root : "") + ", but " +
                  (two_stacks ? "the operator hands out the host's " : "") + library.name + " " +
                  (two_stacks ? "" : "is ") + library.version.text();
  finding.evidence = {seen(scene, loaded, "loaded module: " + loaded->text()),
                      Evidence{library.name + ": " + library.version.text(), library.path, s.taken_at}};
  if (two_stacks) {
    finding.evidence.push_back(seen(scene, s.validations, "driver-ready says IS_HOST_DRIVER=true"));
  }
  add_owners(scene, library, finding);
  add_module_file(scene, finding);
  Reboot reboot = reboot_for(scene, library);
  finding.reboot_helps = reboot.helps;
  finding.reboot_why = std::move(reboot.why);
  finding.next_step = next_step(scene, library, finding.reboot_helps);
  finding.consequences = {"programs that already use the GPU go on",
                          "new ones fail: NVML says \"Driver/library version mismatch\""};
  std::string why = finding.cause;
  return Ruling{NodeState::Broken, std::move(why), std::move(finding), std::nullopt};
}

// The module is loaded, and whoever loaded it is gone with its libraries: the operator has been here (its validator
// left its folder), its container is not, and nothing of the host's could have brought the module.
bool is_orphaned(const Snapshot& s) {
  return s.libraries.is_absent() && s.driver_container.is_absent() && s.module_file.is_absent() &&
         s.validations.is_known() && !is_host_mode(s, false) && s.installs.is_known() &&
         std::none_of(s.installs->begin(), s.installs->end(),
                      [](const InstallTrace& trace) { return trace.part != InstallPart::FabricManager; });
}

// A driver pod that is being replaced looks the same for a while: a warning, not an alarm.
Ruling orphaned(const Scene& scene) {
  const Snapshot& s = scene.snapshot;
  Finding finding = make_finding(scene, FindingCode::DriverLibraryMismatch, Severity::Warning, scene.now);
  finding.cause = "the nvidia module " + s.loaded_driver->text() +
                  " is loaded and has no libraries any more: the driver container that loaded it is gone";
  finding.evidence = {seen(scene, s.loaded_driver, "loaded module: " + s.loaded_driver->text()),
                      seen(scene, s.driver_container, "no driver container is mounted"),
                      seen(scene, s.libraries, "no libnvidia-ml and no libcuda on the host"),
                      seen(scene, s.validations, "the operator's validator has been at work here")};
  add_module_file(scene, finding);
  finding.reboot_helps = RebootHelps::Unknown;
  finding.reboot_why = "the next driver pod loads its own module, with or without a boot";
  finding.next_step =
      "kubectl get pods -A -o wide --field-selector spec.nodeName=" + shell_word(s.node) + " | grep nvidia-driver";
  finding.consequences = {"programs that already use the GPU go on", "new ones find no libnvidia-ml"};
  std::string why = finding.cause;
  return Ruling{NodeState::Degraded, std::move(why), std::move(finding), std::nullopt};
}

// A container's library agrees; the host's counts, too, where the operator works with the host's.
const Library* handed_out_by_host_mode(const Scene& scene) {
  const Snapshot& s = scene.snapshot;
  if (!container_is_mounted(s) || !is_host_mode(s, true)) {
    return nullptr;
  }
  const auto found = std::find_if(s.libraries->begin(), s.libraries->end(), [&s](const Library& library) {
    return library.root == DriverRoot::Host && library.version != s.loaded_driver.value();
  });
  return found == s.libraries->end() ? nullptr : &*found;
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
    return is_orphaned(scene.snapshot) ? std::optional(orphaned(scene)) : std::nullopt;
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
  const Library* host = handed_out_by_host_mode(scene);
  return host != nullptr ? std::optional(mismatch(scene, *host)) : std::nullopt;
}

}  // namespace gpuskew::rules
