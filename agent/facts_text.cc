#include "agent/facts_text.h"

#include <array>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/fact_lines.h"

namespace gpuskew {
namespace {

using Line = FactLines::Line;

std::string pci_id(std::uint16_t device_id) {
  std::array<char, 16> text{};
  const int length = std::snprintf(text.data(), text.size(), "10de:%04x", device_id);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string word(std::string_view text) {
  return std::string(text);
}

std::string yes_or_no(bool value) {
  return value ? "yes" : "no";
}

/// `text` behind a comma, nothing for nothing.
std::string also(const std::string& before, const std::string& text) {
  return text.empty() ? std::string() : ", " + before + text;
}

template <class Parsed>
std::string parsed_text(const Fact<Parsed>& fact) {
  return fact_text(fact, [](const Parsed& value) { return value.text(); });
}

std::string flavour_text(const Fact<ModuleFlavour>& fact) {
  return fact_text(fact, [](ModuleFlavour flavour) { return word(to_string(flavour)); });
}

std::string os_text(const OsIdentity& os) {
  const std::string name = os.version_id ? os.id + " " + *os.version_id : os.id + ", no VERSION_ID";
  return os.pretty_name.empty() ? name : name + " (" + os.pretty_name + ")";
}

Line kernel_line(const InstalledKernel& kernel) {
  const std::string module = fact_text(kernel.module_file, [](const ModuleFile& file) {
    return parsed_text(file.version) + " (" + word(to_string(module_home(file.path))) + ")";
  });
  return {kernel.release.text(),
          "nvidia module " + module + (kernel.has_image ? "" : ", no kernel image seen") +
              (kernel.has_headers ? "" : ", no headers"),
          kernel.module_file.source()};
}

Line dkms_line(const DkmsEntry& entry) {
  return {entry.module + "/" + entry.version, word(to_string(entry.stage)) + also("kernel ", entry.kernel) +
                                                  also("", entry.architecture) + also("", entry.note)};
}

void add_kernel(const Snapshot& snapshot, FactLines& out) {
  out.heading("kernel and next boot");
  out.fact("kernel", snapshot.kernel, [](const KernelRelease& release) { return release.text(); });
  out.fact("architecture", snapshot.architecture);
  out.fact("boot id", snapshot.boot_id);
  out.fact("boot time", snapshot.boot_time);
  out.fact("OS", snapshot.os, &os_text);
  out.fact("command line", snapshot.command_line);
  out.fact("secure boot", snapshot.secure_boot, [](bool on) { return word(on ? "on" : "off"); });
  out.fact("lockdown", snapshot.lockdown);
  out.list("installed kernels", snapshot.kernels, kernel_line);
  out.fact("next kernel", snapshot.next_kernel,
           [](const NextKernel& next) { return next.release.text() + also("by ", next.rule); });
  out.list("dkms", snapshot.dkms, dkms_line);
  out.list("boot builders", snapshot.boot_builders, [](const BootBuilder& builder) {
    return Line{builder.name, "builds missing modules at boot", builder.source};
  });
  out.fact("reboot required", snapshot.reboot_required, [](const RebootRequired& mark) {
    return mark.packages.empty() ? word("yes") : "yes, by " + joined(mark.packages);
  });
}

Line module_line(const KernelModule& module) {
  const std::string since = module.state_since == Time{} ? "" : to_rfc3339(module.state_since);
  return {module.name, word(to_string(module.state)) + also("since ", since) + ", refcount " +
                           (module.refcount ? std::to_string(*module.refcount) : "not told") +
                           also("used by ", joined(module.used_by)) + also("taints ", module.taints)};
}

void add_driver(const Snapshot& snapshot, FactLines& out) {
  out.heading("driver");
  out.fact("loaded driver", snapshot.loaded_driver, [](const DriverVersion& version) { return version.text(); });
  out.add("flavour", flavour_text(snapshot.loaded_flavour), snapshot.loaded_flavour.source());
  out.fact("L4T release", snapshot.l4t_release);
  out.fact("WSL", snapshot.wsl);
  out.fact("module file", snapshot.module_file, [](const ModuleFile& file) { return file.path; });
  if (snapshot.module_file.is_known()) {
    const ModuleFile& file = *snapshot.module_file;
    out.add("  its version", parsed_text(file.version), file.version.source());
    out.add("  its flavour", flavour_text(file.flavour), file.flavour.source());
    out.add("  built for", parsed_text(file.built_for), file.built_for.source());
  }
  out.list("loaded modules", snapshot.modules, module_line);
  out.list("libraries", snapshot.libraries, [](const Library& library) {
    const bool inside = library.root == DriverRoot::Container;
    return Line{library.name, library.version.text() + (inside ? ", in the driver container" : ""), library.path};
  });
  out.fact("fabric manager", snapshot.fabric_manager, [](const DriverVersion& version) { return version.text(); });
  out.fact("driver container", snapshot.driver_container, [](const DriverContainer& container) {
    return container.root + (container.mounted ? ", mounted" : ", not mounted yet: at work");
  });
  out.list("validations", snapshot.validations, [](const ValidationMark& mark) {
    return Line{mark.name, to_rfc3339(mark.written) + (mark.host_driver ? ", the host's driver" : "")};
  });
  out.list("installed by", snapshot.installs, [](const InstallTrace& trace) {
    return Line{word(to_string(trace.kind)),
                trace.name + also("", trace.version) + " (" + word(to_string(trace.part)) + ")" +
                    also("brought by ", trace.changed_by),
                trace.source};
  });
}

Line holder_line(const DeviceHolder& holder) {
  const std::string owner = !holder.pod_uid.empty()        ? "pod " + holder.pod_uid
                            : !holder.unit.empty()         ? holder.unit
                            : !holder.container_id.empty() ? "container " + holder.container_id
                                                           : "";
  const bool unasked = !holder.pod_uid.empty() && !holder.asked_for_gpu;
  return {std::to_string(holder.pid), holder.command + also("", owner) + (unasked ? ", which asked for no GPU" : "") +
                                          also("holds ", joined(holder.devices))};
}

void add_hardware(const Snapshot& snapshot, FactLines& out) {
  out.heading("hardware");
  out.list("GPUs", snapshot.gpus, [](const Gpu& gpu) {
    const std::string driver = fact_text(gpu.driver, [](const std::string& name) { return name; });
    return Line{gpu.address, pci_id(gpu.device_id) + ", driver " + driver, gpu.driver.source()};
  });
  if (snapshot.expected_gpus) {
    out.add("expected GPUs", std::to_string(*snapshot.expected_gpus), "the agent's configuration");
  }
  out.list("other NVIDIA functions", snapshot.pci_functions, [](const PciFunction& function) {
    return Line{function.address, pci_id(function.device_id) + ", " + word(to_string(function.kind))};
  });
  out.list("device nodes", snapshot.device_nodes, [](const DeviceNode& node) {
    return Line{node.path, std::to_string(node.major) + ":" + std::to_string(node.minor)};
  });
  out.fact("device holders", snapshot.holders, [](const DeviceHolders& holders) {
    const std::string unread = holders.unread == 0 ? "" : std::to_string(holders.unread) + " processes";
    return (holders.total == 0 ? "none" : std::to_string(holders.total)) +
           also("unknown for ", unread.empty() ? "" : unread + ", because " + holders.unread_why);
  });
  if (snapshot.holders.is_known()) {
    out.items(snapshot.holders->items, holder_line);
  }
}

Line event_line(const KernelLogEvent& event) {
  const std::string times = event.count == 1 ? to_rfc3339(event.last_at)
                                             : std::to_string(event.count) + " times, " + to_rfc3339(event.first_at) +
                                                   " to " + to_rfc3339(event.last_at);
  return {word(to_string(event.kind)), times + ": " + event.text};
}

std::string runtime_text(const ContainerRuntime& runtime) {
  const std::string version = fact_text(runtime.version, [](const std::string& text) { return text; });
  return word(to_string(runtime.kind)) + " " + version + also("", runtime.flavour);
}

void add_runtime_lines(const ContainerRuntime& runtime, FactLines& out) {
  const std::string format = runtime.config_version == 0 ? "" : std::to_string(runtime.config_version);
  out.add("  configuration", runtime.config + also("format ", format));
  out.add("  started at", fact_text(runtime.started_at, &to_rfc3339), runtime.started_at.source());
  if (!runtime.newest_file.empty()) {
    out.add("  newest change", to_rfc3339(runtime.newest_change), runtime.newest_file);
  }
  if (!runtime.toolkit.empty()) {
    out.add("  toolkit", runtime.toolkit);
  }
  out.add("  default runtime", runtime.default_runtime.empty() ? "not named" : runtime.default_runtime);
  out.add("  CDI enabled", yes_or_no(runtime.cdi_enabled));
  out.add("  nvidia handlers", runtime.handlers.empty() ? "none" : std::to_string(runtime.handlers.size()));
  out.items(runtime.handlers, [](const RuntimeHandler& handler) {
    return Line{"  " + handler.name, handler.binary.empty() ? "the default binary" : handler.binary, handler.file};
  });
  if (!runtime.unimported.empty()) {
    out.add("  not imported", joined(runtime.unimported));
  }
  out.items(runtime.conflicts, [](const ConfigConflict& conflict) {
    return Line{"conflict", conflict.key + ": " + conflict.kept + " wins, without effect is " + conflict.lost +
                                also("lost is ", conflict.effect)};
  });
}

void add_kubelet(const Fact<KubeletDevices>& kubelet, FactLines& out) {
  out.heading("kubelet");
  out.fact("device plugins", kubelet, [](const KubeletDevices& known) {
    return known.sockets.empty() ? word("no socket of NVIDIA's") : joined(known.sockets);
  });
  if (!kubelet.is_known()) {
    return;
  }
  out.items(kubelet->registered, [](const PluginResource& resource) {
    return Line{resource.name, std::to_string(resource.devices) + " registered"};
  });
  out.items(kubelet->pods, [](const PodDevices& pod) {
    return Line{"pod " + pod.pod_uid,
                std::to_string(pod.devices) + " of " + pod.resource + also("container ", pod.container)};
  });
}

void add_remembered(const LastGood& good, FactLines& out) {
  const std::string count = good.gpu_count ? std::to_string(*good.gpu_count) + " GPUs" : "";
  out.heading("remembered");
  out.add("last good state", good.driver.text() + " on " + good.kernel.text() + ", " + to_rfc3339(good.at) +
                                 also("", count) + (good.from_container ? ", from the driver container" : ""));
  if (!good.gpus.empty()) {
    out.add("  its GPUs", joined(good.gpus));
  }
}

}  // namespace

std::string facts_text(const Snapshot& snapshot) {
  FactLines out;
  out.add("node", snapshot.node);
  add_kernel(snapshot, out);
  add_driver(snapshot, out);
  add_hardware(snapshot, out);
  out.heading("kernel log");
  out.list("causes in this boot", snapshot.kernel_log, event_line);
  out.heading("container runtime");
  out.fact("runtime", snapshot.runtime, &runtime_text);
  if (snapshot.runtime.is_known()) {
    add_runtime_lines(*snapshot.runtime, out);
  }
  out.list("CDI specifications", snapshot.cdi_specs, [](const CdiSpec& spec) {
    return Line{spec.kind, std::to_string(spec.devices) + " devices" + also("driver ", spec.driver_version), spec.path};
  });
  add_kubelet(snapshot.kubelet, out);
  if (snapshot.remembered) {
    add_remembered(*snapshot.remembered, out);
  }
  return out.text();
}

}  // namespace gpuskew
