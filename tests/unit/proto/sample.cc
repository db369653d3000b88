#include "tests/unit/proto/sample.h"

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
  ModuleFile file{module, Fact<DriverVersion>::known(driver("550.90.07"), module)};
  snapshot.module_file = Fact<ModuleFile>::known(file, "/lib/modules/5.15.0-119-generic");
  snapshot.libraries = Fact<std::vector<Library>>::known(libraries(), "/usr/lib/x86_64-linux-gnu");
  snapshot.driver_container =
      Fact<DriverContainer>::known(DriverContainer{"/run/nvidia/driver", true}, "/run/nvidia/driver");
  snapshot.gpus = Fact<std::vector<Gpu>>::known(gpus(), "/sys/bus/pci/devices");
  snapshot.remembered = sample_last_good();
  return snapshot;
}

LastGood sample_last_good() {
  return LastGood{
      from_unix_ms(1'778'000'000'000), "boot-before", kernel("5.15.0-117-generic"), driver("550.90.07"), 2, true};
}

}  // namespace gpuskew
