#include "tests/bench/bench_facts.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace gpuskew {
namespace {

constexpr unsigned kGpus = 8;
constexpr unsigned kSwitches = 6;
constexpr std::array kKernels = {"5.15.0-117-generic", "5.15.0-119-generic", "5.15.0-122-generic"};

Time boot_of(std::size_t index) {
  return from_unix_ms(1'770'000'000'000 + static_cast<std::int64_t>(index) * 1'234);
}

std::string pod_of(std::size_t index) {
  return fmt::format("b1946ac9-2492-4d3e-8c5f-{:012x}", index);
}

template <class T>
Fact<T> known(T value, const char* source) {
  return Fact<T>::known(std::move(value), source);
}

KernelModule module(const char* name, std::uint32_t refcount, std::vector<std::string> used_by) {
  return {name, refcount, std::move(used_by), ModuleState::Live, "OE", {}};
}

std::vector<KernelModule> modules() {
  return {module("nvidia", 312, {"nvidia_uvm", "nvidia_peermem", "nvidia_modeset"}), module("nvidia_uvm", 16, {}),
          module("nvidia_peermem", 0, {}), module("nvidia_drm", 0, {}), module("nvidia_modeset", 1, {"nvidia_drm"})};
}

std::vector<InstallTrace> installs() {
  const std::string dpkg = "/var/lib/dpkg/status";
  const std::string version = "550.90.07-0ubuntu0.22.04.1";
  std::vector<InstallTrace> traces = {
      {InstallKind::Dkms, InstallPart::KernelModule, "/var/lib/dkms/nvidia", "550.90.07", "/var/lib/dkms/nvidia"}};
  for (const char* name : {"nvidia-dkms-550-server", "nvidia-kernel-source-550-server"}) {
    traces.push_back({InstallKind::Deb, InstallPart::KernelModule, name, version, dpkg});
  }
  for (const char* name : {"nvidia-driver-550-server", "libnvidia-compute-550-server", "nvidia-utils-550-server"}) {
    traces.push_back({InstallKind::Deb, InstallPart::UserSpace, name, version, dpkg});
  }
  traces.push_back({InstallKind::Deb, InstallPart::FabricManager, "nvidia-fabricmanager-550", version, dpkg});
  return traces;
}

std::vector<PciFunction> switches() {
  std::vector<PciFunction> functions;
  for (unsigned at = 0; at < kSwitches; ++at) {
    functions.push_back({fmt::format("0000:{:02x}:00.0", 0xc4 + at), 0x1af1, FunctionKind::NvSwitch});
  }
  return functions;
}

std::vector<DeviceNode> device_nodes() {
  std::vector<DeviceNode> nodes;
  for (unsigned at = 0; at < kGpus; ++at) {
    nodes.push_back({fmt::format("/dev/nvidia{}", at), 195, at});
  }
  for (unsigned at = 0; at < kSwitches; ++at) {
    nodes.push_back({fmt::format("/dev/nvidia-nvswitch{}", at), 235, at});
  }
  nodes.push_back({"/dev/nvidiactl", 195, 255});
  nodes.push_back({"/dev/nvidia-uvm", 510, 0});
  nodes.push_back({"/dev/nvidia-uvm-tools", 510, 1});
  return nodes;
}

/// One training process a GPU, the device plugin, the DCGM exporter, persistenced and the fabric manager.
DeviceHolders holders(std::size_t index) {
  DeviceHolders holders;
  const std::string pod = pod_of(index);
  const auto pid = static_cast<std::uint32_t>(24'000 + index % 1000);
  for (unsigned at = 0; at < kGpus; ++at) {
    const std::string container = fmt::format("{:064x}", 0xabc0 + at + index * 16);
    holders.items.push_back({pid + at,
                             "python3",
                             {fmt::format("/dev/nvidia{}", at), "/dev/nvidia-uvm", "/dev/nvidiactl"},
                             pod,
                             container,
                             "",
                             true});
  }
  std::vector<std::string> all;
  for (unsigned at = 0; at < kGpus; ++at) {
    all.push_back(fmt::format("/dev/nvidia{}", at));
  }
  const std::string container = fmt::format("{:064x}", 0xdef0 + index * 16);
  holders.items.push_back({2'101, "nvidia-persiste", all, "", "", "nvidia-persistenced.service", false});
  holders.items.push_back({2'340, "nv-fabricmanage", all, "", "", "nvidia-fabricmanager.service", false});
  holders.items.push_back({8'790, "dcgm-exporter", all, pod, container, "", false});
  holders.total = static_cast<std::uint32_t>(holders.items.size());
  return holders;
}

std::vector<InstalledKernel> kernels() {
  std::vector<InstalledKernel> kernels;
  const DriverVersion driver = DriverVersion::parse("550.90.07").value();
  for (const char* text : kKernels) {
    const KernelRelease release = KernelRelease::parse(text).value();
    const std::string path = fmt::format("/lib/modules/{}/updates/dkms/nvidia.ko", text);
    ModuleFile file{path, Fact<DriverVersion>::known(driver, path), Fact<KernelRelease>::known(release, path),
                    Fact<ModuleFlavour>::known(ModuleFlavour::Open, path)};
    kernels.push_back(
        {release, true, true, Fact<ModuleFile>::known(std::move(file), fmt::format("/lib/modules/{}", text))});
  }
  return kernels;
}

std::vector<DkmsEntry> dkms() {
  std::vector<DkmsEntry> entries;
  for (const char* kernel : kKernels) {
    entries.push_back({"nvidia", "550.90.07", kernel, "x86_64", DkmsStage::Installed, ""});
  }
  return entries;
}

std::vector<KernelLogEvent> kernel_log(Time boot) {
  KernelLogEvent loaded;
  loaded.kind = KernelLogKind::DriverLoaded;
  loaded.ours = "550.90.07";
  loaded.text =
      "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  550.90.07  Release Build  (dvs-builder@U16-I1-N08-05)";
  loaded.first_at = loaded.last_at = boot + std::chrono::seconds(12);
  loaded.count = 1;
  KernelLogEvent xid;
  xid.kind = KernelLogKind::Xid;
  xid.gpu = "0000:3b:00.0";
  xid.xid = 31;
  xid.text = "NVRM: Xid (PCI:0000:3b:00): 31, pid=24003, name=python3, Ch 00000013, intr 10000000. MMU Fault";
  xid.first_at = xid.last_at = boot + std::chrono::hours(3);
  xid.count = 4;
  return {loaded, xid};
}

ContainerRuntime runtime(Time boot) {
  ContainerRuntime runtime;
  runtime.kind = RuntimeKind::Containerd;
  runtime.config = "/etc/containerd/config.toml";
  runtime.config_version = 2;
  runtime.version = known<std::string>("1.7.24", "/usr/bin/containerd");
  runtime.handlers = {{"nvidia", "/usr/bin/nvidia-container-runtime", "/etc/containerd/conf.d/99-nvidia.toml"},
                      {"nvidia-cdi", "/usr/bin/nvidia-container-runtime.cdi", "/etc/containerd/conf.d/99-nvidia.toml"}};
  runtime.default_runtime = "runc";
  runtime.cdi_enabled = true;
  runtime.started_at = known(boot + std::chrono::seconds(20), "/proc/1203/stat");
  runtime.newest_file = "/etc/containerd/conf.d/99-nvidia.toml";
  runtime.newest_change = boot;
  return runtime;
}

KubeletDevices kubelet(std::size_t index) {
  return {{"nvidia-gpu.sock"}, {{"nvidia.com/gpu", kGpus}}, {{pod_of(index), "trainer", "nvidia.com/gpu", kGpus}}};
}

}  // namespace

void add_bench_facts(Snapshot& snapshot, std::size_t index) {
  const Time boot = boot_of(index);
  snapshot.boot_time = known(boot, "/proc/stat");
  snapshot.wsl = Fact<std::string>::absent("/proc/sys/kernel/osrelease");
  snapshot.modules = known(modules(), "/proc/modules");
  snapshot.fabric_manager = known(DriverVersion::parse("550.90.07").value(), "/var/lib/dpkg/status");
  snapshot.validations = Fact<std::vector<ValidationMark>>::absent("/run/nvidia/validations");
  snapshot.installs = known(installs(), "/var/lib/dpkg/status");
  snapshot.pci_functions = known(switches(), "/sys/bus/pci/devices");
  snapshot.device_nodes = known(device_nodes(), "/dev");
  snapshot.holders = known(holders(index), "/proc");
  snapshot.command_line = known<std::string>(
      "BOOT_IMAGE=/boot/vmlinuz-5.15.0-119-generic root=UUID=0b3a6f9e-5c1d-4e0a-9a51-0c7b1f6f2d11 ro iommu=pt quiet",
      "/proc/cmdline");
  snapshot.secure_boot = known(true, "/sys/firmware/efi/efivars");
  snapshot.lockdown = known<std::string>("integrity", "/sys/kernel/security/lockdown");
  snapshot.kernel_log = known(kernel_log(boot), "/run/log/journal");
  snapshot.kernels = known(kernels(), "/boot");
  snapshot.next_kernel = known(NextKernel{KernelRelease::parse(kKernels.back()).value(), "first entry of grub.cfg"},
                               "/boot/grub/grub.cfg");
  snapshot.dkms = known(dkms(), "/var/lib/dkms");
  snapshot.boot_builders = known(std::vector<BootBuilder>{{"dkms", "/etc/systemd/system/multi-user.target.wants"}}, "");
  snapshot.reboot_required =
      known(RebootRequired{{"linux-image-5.15.0-122-generic", "linux-base"}}, "/run/reboot-required");
  snapshot.runtime = known(runtime(boot), "/etc/containerd/config.toml");
  snapshot.cdi_specs =
      known(std::vector<CdiSpec>{{"/var/run/cdi/nvidia.yaml", "nvidia.com/gpu", kGpus, "550.90.07"}}, "/var/run/cdi");
  snapshot.kubelet = known(kubelet(index), "/var/lib/kubelet/device-plugins");
}

}  // namespace gpuskew
