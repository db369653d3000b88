// Two installers of one driver. Several traces are the rule, not a conflict: a package and its dkms tree, a runfile
// with
// --dkms, host packages on a node where the operator's container found them and left. A conflict is two owners of one
// part, or of two parts that have to agree.

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <set>

#include "core/rules/rules.h"

namespace gpuskew::rules {
namespace {

using Picked = std::vector<const InstallTrace*>;
using Predicate = std::function<bool(const InstallTrace&)>;

struct Conflict {
  std::string cause;
  Picked traces;
  std::vector<Evidence> more{};
  std::string next_step;
  std::string consequence;
};

constexpr std::size_t kMaxNamed = 3;     // packages in a sentence
constexpr std::size_t kMaxRemoved = 12;  // in a command

Picked pick(const Snapshot& snapshot, const Predicate& wanted) {
  Picked picked;
  if (snapshot.installs.is_known()) {
    for (const InstallTrace& trace : snapshot.installs.value()) {
      if (wanted(trace)) {
        picked.push_back(&trace);
      }
    }
  }
  return picked;
}

bool is_packaged(const InstallTrace& trace) {
  return trace.kind == InstallKind::Deb || trace.kind == InstallKind::Rpm || trace.kind == InstallKind::Prebuilt ||
         trace.kind == InstallKind::Akmod || trace.kind == InstallKind::Kmod;
}

bool is_packaged_driver(const InstallTrace& trace) {
  return is_packaged(trace) && trace.part != InstallPart::FabricManager;
}

bool is_runfile(const InstallTrace& trace) {
  return trace.kind == InstallKind::Runfile;
}

// A package of sources that dkms builds, or what it built.
bool is_built_by_dkms(const InstallTrace& trace) {
  return trace.kind == InstallKind::Dkms ||
         (trace.kind == InstallKind::Rpm && trace.part == InstallPart::KernelModule &&
          trace.name.find("dkms") != std::string::npos);
}

std::string with_version(const InstallTrace& trace) {
  return trace.version.empty() ? trace.name : trace.name + " " + trace.version;
}

std::string named(const Picked& traces) {
  std::string text;
  for (std::size_t i = 0; i < std::min(traces.size(), kMaxNamed); ++i) {
    text += (i == 0 ? "" : ", ") + with_version(*traces[i]);
  }
  if (traces.size() > kMaxNamed) {
    text += " and " + std::to_string(traces.size() - kMaxNamed) + " more";
  }
  return text;
}

bool of_rpm(const Picked& traces) {
  return std::any_of(traces.begin(), traces.end(), [](const InstallTrace* trace) {
    return trace->kind == InstallKind::Rpm || trace->kind == InstallKind::Akmod || trace->kind == InstallKind::Kmod;
  });
}

struct PackageTool {
  std::string remove;
  std::string reinstall;
  std::string hold;
  std::string upgrade;
};

PackageTool package_tool(const Scene& scene, const Picked& traces) {
  if (!of_rpm(traces)) {
    return {"sudo apt-get purge", "sudo apt-get install --reinstall", "sudo apt-mark hold", "apt upgrade"};
  }
  const auto& os = scene.snapshot.os;
  if (os.is_known() && (os->id.starts_with("sle") || os->id.starts_with("opensuse"))) {
    return {"sudo zypper remove", "sudo zypper install --force", "sudo zypper addlock", "zypper update"};
  }
  return {"sudo dnf remove", "sudo dnf reinstall", "sudo dnf versionlock add", "dnf upgrade"};
}

std::string with_names(std::string command, const Picked& traces) {
  for (std::size_t i = 0; i < std::min(traces.size(), kMaxRemoved); ++i) {
    command += " " + shell_word(traces[i]->name);
  }
  return command;
}

std::optional<Conflict> runfile_and_packages(const Scene& scene) {
  Picked runfile = pick(scene.snapshot, is_runfile);
  Picked packages = pick(scene.snapshot, is_packaged_driver);
  if (runfile.empty() || packages.empty()) {
    return std::nullopt;
  }
  Conflict conflict;
  conflict.cause = "NVIDIA's runfile (" + with_version(*runfile.front()) + ") and packages (" + named(packages) +
                   ") both installed a driver";
  conflict.next_step =
      "kubectl drain " + shell_word(scene.snapshot.node) + " --ignore-daemonsets && " +
      on_node(scene, with_names("sudo nvidia-uninstall && " + package_tool(scene, packages).reinstall, packages),
              Terminal::Yes);
  conflict.consequence = "each overwrites files of the other, at the next package upgrade at the latest";
  conflict.traces = std::move(runfile);
  conflict.traces.insert(conflict.traces.end(), packages.begin(), packages.end());
  return conflict;
}

std::vector<Evidence> host_libraries_but(const Scene& scene, const DriverVersion& loaded) {
  std::vector<Evidence> files;
  if (scene.snapshot.libraries.is_known()) {
    for (const Library& each : scene.snapshot.libraries.value()) {
      if (each.root == DriverRoot::Host && each.version != loaded) {
        files.push_back(
            Evidence{"the host's " + each.name + ": " + each.version.text(), each.path, scene.snapshot.taken_at});
      }
    }
  }
  return files;
}

std::string remove_from_host(const Scene& scene, const Picked& traces, const std::vector<Evidence>& files) {
  Picked packages;
  std::copy_if(traces.begin(), traces.end(), std::back_inserter(packages),
               [](const InstallTrace* trace) { return is_packaged(*trace); });
  if (!packages.empty()) {
    return on_node(scene, with_names(package_tool(scene, packages).remove, packages), Terminal::Yes);
  }
  if (std::any_of(traces.begin(), traces.end(), [](const InstallTrace* trace) { return is_runfile(*trace); })) {
    return on_node(scene, "sudo nvidia-uninstall", Terminal::Yes);
  }
  const std::string file = shell_word(files.empty() ? traces.front()->name : files.front().source);
  return on_node(scene, "ls -l " + file + "; dpkg -S " + file + " || rpm -qf " + file, Terminal::Yes);
}

// Host-mode tools (nvidia-container-cli, a validator with the host's root) take the host's libraries; they match the
// module only when they are the container's version.
std::optional<Conflict> container_and_host(const Scene& scene) {
  const Snapshot& s = scene.snapshot;
  if (!s.driver_container.is_known() || !s.driver_container->mounted || !s.loaded_driver.is_known()) {
    return std::nullopt;
  }
  const DriverVersion& loaded = s.loaded_driver.value();
  Picked traces = pick(s, [&loaded](const InstallTrace& trace) {
    const auto version = driver_version(trace);
    return trace.part == InstallPart::UserSpace && trace.kind != InstallKind::Container && version &&
           *version != loaded;
  });
  std::vector<Evidence> files = host_libraries_but(scene, loaded);
  if (traces.empty() && files.empty()) {
    return std::nullopt;
  }
  Conflict conflict;
  conflict.cause = "two driver stacks: the driver container at " + s.driver_container->root + " loaded " +
                   loaded.text() + ", the host has its own: " + (traces.empty() ? files.front().text : named(traces));
  conflict.next_step = remove_from_host(scene, traces, files);
  conflict.consequence =
      "what uses the host's libraries (nvidia-container-cli, host programs) fails: driver/library version mismatch";
  conflict.more = std::move(files);
  conflict.traces = std::move(traces);
  return conflict;
}

std::optional<Conflict> akmod_and_dkms(const Scene& scene) {
  Picked akmod = pick(scene.snapshot, [](const InstallTrace& trace) { return trace.kind == InstallKind::Akmod; });
  Picked dkms = pick(scene.snapshot, is_built_by_dkms);
  if (akmod.empty() || dkms.empty()) {
    return std::nullopt;
  }
  Conflict conflict;
  conflict.cause = "akmods (" + named(akmod) + ") and dkms (" + named(dkms) + ") both build the nvidia module";
  const InstallTrace& first = *dkms.front();
  const std::string module = first.name.substr(first.name.rfind('/') + 1);
  conflict.next_step =
      first.kind == InstallKind::Rpm
          ? on_node(scene, with_names(package_tool(scene, dkms).remove, {&first}), Terminal::Yes)
          : on_node(scene, "sudo dkms remove " + shell_word(module + "/" + first.version) + " --all", Terminal::Yes);
  conflict.consequence = "a kernel may get the module that the other built for another kernel (weak-updates)";
  conflict.traces = std::move(akmod);
  conflict.traces.insert(conflict.traces.end(), dkms.begin(), dkms.end());
  return conflict;
}

std::optional<Conflict> runfile_and_fabric_manager(const Scene& scene) {
  Picked runfile = pick(scene.snapshot, is_runfile);
  Picked manager = pick(scene.snapshot, [](const InstallTrace& trace) {
    return is_packaged(trace) && trace.part == InstallPart::FabricManager;
  });
  if (runfile.empty() || manager.empty()) {
    return std::nullopt;
  }
  const PackageTool tool = package_tool(scene, manager);
  Conflict conflict;
  conflict.cause = "the driver comes from NVIDIA's runfile (" + with_version(*runfile.front()) +
                   "), fabric manager from a package (" + named(manager) + "): `" + tool.upgrade +
                   "` will desynchronise them";
  conflict.next_step = on_node(scene, with_names(tool.hold, manager), Terminal::Yes);
  conflict.consequence = "fabric manager has to be exactly the driver's version, else CUDA fails with error 802";
  conflict.traces = std::move(runfile);
  conflict.traces.insert(conflict.traces.end(), manager.begin(), manager.end());
  return conflict;
}

// By the versions, not the names: nvidia-driver-510 may be an empty package that leads to 525. Modules are left out:
// distributions keep those of several kernels.
std::optional<Conflict> two_branches(const Scene& scene) {
  Picked packages = pick(scene.snapshot, [](const InstallTrace& trace) {
    const bool plain = trace.kind == InstallKind::Deb || trace.kind == InstallKind::Rpm;
    return plain && trace.part != InstallPart::FabricManager && driver_version(trace).has_value();
  });
  std::set<std::uint32_t> branches;
  Picked one_each;
  for (const InstallTrace* trace : packages) {
    if (branches.insert(driver_version(*trace)->branch_number()).second) {
      one_each.push_back(trace);
    }
  }
  if (branches.size() < 2) {
    return std::nullopt;
  }
  Conflict conflict;
  conflict.cause =
      "packages of " + std::to_string(branches.size()) + " driver branches are installed: " + named(one_each);
  conflict.next_step =
      on_node(scene, of_rpm(packages) ? "rpm -qa '*nvidia*'" : "dpkg -l '*nvidia*' | grep ^ii", Terminal::Yes);
  conflict.consequence = "which branch's module and libraries are taken depends on the order of installation";
  conflict.traces = std::move(one_each);
  return conflict;
}

Evidence trace_evidence(const Scene& scene, const InstallTrace& trace) {
  std::string text =
      std::string(to_string(trace.kind)) + ", " + std::string(to_string(trace.part)) + ": " + with_version(trace);
  if (!trace.changed_by.empty()) {
    text += " (" + trace.changed_by + ")";
  }
  return Evidence{std::move(text), trace.source, scene.snapshot.taken_at};
}

}  // namespace

std::optional<Finding> install_conflict(const Scene& scene) {
  using Rule = std::optional<Conflict> (*)(const Scene&);
  constexpr std::array<Rule, 5> kRules{runfile_and_packages, container_and_host, akmod_and_dkms,
                                       runfile_and_fabric_manager, two_branches};
  std::optional<Finding> finding;
  for (const Rule rule : kRules) {
    std::optional<Conflict> conflict = rule(scene);
    if (!conflict) {
      continue;
    }
    if (!finding) {
      finding = make_finding(scene, FindingCode::InstallConflict, Severity::Warning, scene.now);
      finding->cause = conflict->cause;
      finding->next_step = std::move(conflict->next_step);
      finding->reboot_helps = RebootHelps::No;
      finding->reboot_why = "both are still installed after a boot";
    } else {
      finding->cause += "; " + conflict->cause;
    }
    for (const InstallTrace* trace : conflict->traces) {
      Evidence evidence = trace_evidence(scene, *trace);
      if (std::find(finding->evidence.begin(), finding->evidence.end(), evidence) == finding->evidence.end()) {
        finding->evidence.push_back(std::move(evidence));
      }
    }
    std::move(conflict->more.begin(), conflict->more.end(), std::back_inserter(finding->evidence));
    finding->consequences.push_back(std::move(conflict->consequence));
  }
  return finding;
}

}  // namespace gpuskew::rules
