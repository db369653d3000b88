#include "tests/unit/proto/sample.h"

#include <optional>
#include <string>
#include <vector>

namespace gpuskew {
namespace {

DriverVersion driver(const char* text) {
  return DriverVersion::parse(text).value();
}
KernelRelease kernel(const char* text) {
  return KernelRelease::parse(text).value();
}

OsIdentity jammy() {
  OsIdentity os;
  os.id = "ubuntu";
  os.version_id = "22.04";
  os.pretty_name = "Ubuntu 22.04.5 LTS";
  return os;
}

std::vector<Library> libraries() {
  return {
      {"libnvidia-ml", driver("550.90.07"), "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07", DriverRoot::Host},
      {"libcuda", driver("550.90.07"), "/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07", DriverRoot::Container}};
}

std::vector<Gpu> gpus() {
  const std::string pci = "/sys/bus/pci/devices/";
  return {{"0000:3b:00.0", 0x20b5, Fact<std::string>::known("nvidia", pci + "0000:3b:00.0/driver")},
          {"10000:af:00.0", 0x20b5, Fact<std::string>::absent(pci + "10000:af:00.0/driver")}};
}

std::vector<KernelModule> modules() {
  return {{"nvidia", 3, {"nvidia_uvm", "nvidia_modeset"}, ModuleState::Live, "POE", {}},
          {"nvidia_uvm", std::nullopt, {}, ModuleState::Unloading, "POE-", from_unix_ms(1'779'500'000'000)}};
}

DeviceHolders holders() {
  DeviceHolders holders;
  holders.items = {
      {4711, "python3", {"/dev/nvidia0", "/dev/nvidiactl"}, "b1946ac9-2492-4d3e-8c5f-0a7d1e9c5b11", "f0e1d2", "", true},
      {812, "Xorg", {"/dev/nvidia0"}, "", "", "gdm.service", false}};
  holders.total = 3;
  holders.unread = 1;
  holders.unread_why = "permission denied";
  return holders;
}

std::vector<KernelLogEvent> kernel_log() {
  KernelLogEvent mismatch;
  mismatch.kind = KernelLogKind::ApiMismatch;
  mismatch.ours = "550.90.07";
  mismatch.theirs = "550.107.02";
  mismatch.text = "NVRM: API mismatch";
  mismatch.first_at = from_unix_ms(1'779'000'060'000);
  mismatch.last_at = from_unix_ms(1'779'000'120'000);
  mismatch.count = 7;
  KernelLogEvent lost = mismatch;
  lost.kind = KernelLogKind::FellOffBus;
  lost.gpu = "0000:3b:00.0";
  lost.xid = 79;
  lost.ours = lost.theirs = "";
  return {mismatch, lost};
}

ContainerRuntime runtime() {
  ContainerRuntime runtime;
  runtime.kind = RuntimeKind::Containerd;
  runtime.flavour = "k3s";
  runtime.config = "/etc/containerd/config.toml";
  runtime.config_version = 2;
  runtime.version = Fact<std::string>::known("1.7.24", "/usr/bin/containerd");
  runtime.handlers = {{"nvidia", "/usr/bin/nvidia-container-runtime", "/etc/containerd/conf.d/99-nvidia.toml"}};
  runtime.default_runtime = "runc";
  runtime.cdi_enabled = true;
  runtime.unimported = {"/etc/containerd/conf.d/nobody.toml"};
  runtime.conflicts = {{"plugins.cri", "/etc/containerd/a.toml", "/etc/containerd/b.toml", "runtime nvidia"}};
  runtime.started_at = Fact<Time>::known(from_unix_ms(1'779'000'030'000), "/proc/1203/stat");
  runtime.toolkit = "/usr/bin/nvidia-container-runtime";
  runtime.newest_file = "/etc/containerd/conf.d/99-nvidia.toml";
  runtime.newest_change = from_unix_ms(1'779'900'000'000);
  return runtime;
}

void add_device_facts(Snapshot& snapshot) {
  snapshot.pci_functions = Fact<std::vector<PciFunction>>::known(
      {{"0000:3b:00.1", 0x1aef, FunctionKind::Audio}, {"0000:c4:00.0", 0x1af1, FunctionKind::NvSwitch}},
      "/sys/bus/pci/devices");
  snapshot.device_nodes =
      Fact<std::vector<DeviceNode>>::known({{"/dev/nvidia0", 195, 0}, {"/dev/nvidiactl", 195, 255}}, "/dev");
  snapshot.holders = Fact<DeviceHolders>::known(holders(), "/proc");
  snapshot.kernel_log = Fact<std::vector<KernelLogEvent>>::known(kernel_log(), "/run/log/journal");
}

void add_boot_facts(Snapshot& snapshot) {
  snapshot.command_line = Fact<std::string>::known("root=/dev/sda1 ro quiet", "/proc/cmdline");
  snapshot.secure_boot = Fact<bool>::known(true, "/sys/firmware/efi/efivars");
  snapshot.lockdown = Fact<std::string>::known("integrity", "/sys/kernel/security/lockdown");
  const KernelRelease next = kernel("5.15.0-122-generic");
  snapshot.kernels = Fact<std::vector<InstalledKernel>>::known(
      {{kernel("5.15.0-119-generic"), true, true, snapshot.module_file},
       {next, true, false, Fact<ModuleFile>::absent("/lib/modules/5.15.0-122-generic")}},
      "/lib/modules");
  snapshot.next_kernel = Fact<NextKernel>::known(NextKernel{next, "first entry of grub.cfg"}, "/boot/grub/grub.cfg");
  snapshot.dkms = Fact<std::vector<DkmsEntry>>::known(
      {{"nvidia", "550.90.07", "5.15.0-119-generic", "x86_64", DkmsStage::Installed, ""},
       {"nvidia", "550.90.07", "5.15.0-122-generic", "x86_64", DkmsStage::Failed, "see make.log"}},
      "/var/lib/dkms");
  snapshot.boot_builders = Fact<std::vector<BootBuilder>>::known({{"dkms", "/etc/systemd/system/x.wants"}}, "/etc");
  snapshot.reboot_required =
      Fact<RebootRequired>::known(RebootRequired{{"linux-image-5.15.0-122-generic"}}, "/run/reboot-required");
}

void add_runtime_facts(Snapshot& snapshot) {
  snapshot.runtime = Fact<ContainerRuntime>::known(runtime(), "/etc/containerd/config.toml");
  snapshot.cdi_specs = Fact<std::vector<CdiSpec>>::known(
      {{"/var/run/cdi/nvidia.yaml", "nvidia.com/gpu", 2, "550.90.07"}}, "/var/run/cdi");
  snapshot.kubelet = Fact<KubeletDevices>::known(
      KubeletDevices{{"nvidia-gpu.sock"}, {{"nvidia.com/gpu", 2}}, {{"b1946ac9", "trainer", "nvidia.com/gpu", 1}}},
      "/var/lib/kubelet/device-plugins");
}

}  // namespace

Snapshot sample_snapshot() {
  Snapshot snapshot;
  snapshot.node = "gpu-7.rack-3";
  snapshot.agent_version = "0.1.0";
  snapshot.taken_at = from_unix_ms(1'780'000'000'123);
  snapshot.boot_id =
      Fact<std::string>::known("4d1f2b7e-51cc-43c8-9d1a-0d6b9f3b5c11", "/proc/sys/kernel/random/boot_id");
  snapshot.boot_time = Fact<Time>::known(from_unix_ms(1'779'000'000'000), "/proc/stat");
  snapshot.kernel = Fact<KernelRelease>::known(kernel("5.15.0-119-generic"), "/proc/sys/kernel/osrelease");
  snapshot.architecture = Fact<std::string>::known("x86_64", "/proc/sys/kernel/arch");
  snapshot.os = Fact<OsIdentity>::known(jammy(), "/etc/os-release");
  snapshot.loaded_driver = Fact<DriverVersion>::known(driver("550.90.07"), "/sys/module/nvidia/version");
  snapshot.loaded_flavour = Fact<ModuleFlavour>::known(ModuleFlavour::Open, "/proc/driver/nvidia/version");
  snapshot.l4t_release = Fact<std::string>::absent("/proc/driver/nvidia/version");
  const std::string module = "/lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko";
  const ModuleFile file{module, Fact<DriverVersion>::known(driver("550.90.07"), module),
                        Fact<KernelRelease>::known(kernel("5.15.0-119-generic"), module),
                        Fact<ModuleFlavour>::known(ModuleFlavour::Open, module)};
  snapshot.module_file = Fact<ModuleFile>::known(file, "/lib/modules/5.15.0-119-generic");
  snapshot.libraries = Fact<std::vector<Library>>::known(libraries(), "/usr/lib/x86_64-linux-gnu");
  snapshot.driver_container =
      Fact<DriverContainer>::known(DriverContainer{"/run/nvidia/driver", true}, "/run/nvidia/driver");
  snapshot.gpus = Fact<std::vector<Gpu>>::known(gpus(), "/sys/bus/pci/devices");
  snapshot.wsl = Fact<std::string>::absent("/proc/sys/kernel/osrelease");
  snapshot.modules = Fact<std::vector<KernelModule>>::known(modules(), "/proc/modules");
  snapshot.fabric_manager = Fact<DriverVersion>::known(driver("550.90.07"), "/usr/bin/nv-fabricmanager");
  snapshot.validations = Fact<std::vector<ValidationMark>>::known(
      {{"driver-ready", from_unix_ms(1'779'000'200'000), true}}, "/run/nvidia/validations");
  snapshot.installs = Fact<std::vector<InstallTrace>>::known(
      {{InstallKind::Deb, InstallPart::UserSpace, "nvidia-driver-550", "550.90.07-0ubuntu1", "/var/lib/dpkg/status",
        "/usr/bin/unattended-upgrade"},
       {InstallKind::Runfile, InstallPart::KernelModule, "/usr/bin/nvidia-uninstall", "", "/usr/bin"}},
      "/var/lib/dpkg/status");
  add_device_facts(snapshot);
  add_boot_facts(snapshot);
  add_runtime_facts(snapshot);
  snapshot.expected_gpus = 8;
  snapshot.remembered = sample_last_good();
  return snapshot;
}

LastGood sample_last_good() {
  return LastGood{
      from_unix_ms(1'778'000'000'000),  "boot-before", kernel("5.15.0-117-generic"), driver("550.90.07"), 2, true,
      {"0000:3b:00.0", "10000:af:00.0"}};
}

}  // namespace gpuskew
