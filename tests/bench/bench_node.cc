#include "tests/bench/bench_node.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/bench/bench_facts.h"

namespace gpuskew {
namespace {

constexpr std::size_t kGpus = 8;

DriverVersion driver() {
  return DriverVersion::parse("550.90.07").value();
}

Fact<OsIdentity> jammy() {
  OsIdentity os;
  os.id = "ubuntu";
  os.version_id = "22.04";
  os.pretty_name = "Ubuntu 22.04.5 LTS";
  return Fact<OsIdentity>::known(std::move(os), "/etc/os-release");
}

Fact<std::vector<Library>> libraries() {
  const std::string directory = "/usr/lib/x86_64-linux-gnu/";
  return Fact<std::vector<Library>>::known(
      {{"libnvidia-ml", driver(), directory + "libnvidia-ml.so.550.90.07", DriverRoot::Host},
       {"libcuda", driver(), directory + "libcuda.so.550.90.07", DriverRoot::Host}},
      directory);
}

Fact<std::vector<Gpu>> gpus() {
  const std::string devices = "/sys/bus/pci/devices";
  std::vector<Gpu> found;
  for (std::size_t at = 0; at < kGpus; ++at) {
    const std::string address = fmt::format("0000:{:02x}:00.0", 0x1b + 0x10 * at);
    found.push_back({address, 0x20b2, Fact<std::string>::known("nvidia", devices + "/" + address + "/driver")});
  }
  return Fact<std::vector<Gpu>>::known(std::move(found), devices);
}

}  // namespace

std::string bench_node_name(std::size_t index) {
  return fmt::format("bench-{:05}", index);
}

Snapshot bench_snapshot(std::size_t index) {
  Snapshot snapshot;
  snapshot.node = bench_node_name(index);
  snapshot.agent_version = GPUSKEW_VERSION;
  snapshot.taken_at = from_unix_ms(1'780'000'000'000);
  snapshot.boot_id = Fact<std::string>::known(fmt::format("4d1f2b7e-51cc-43c8-9d1a-{:012x}", index),
                                              "/proc/sys/kernel/random/boot_id");
  snapshot.boot_time = Fact<Time>::known(from_unix_ms(1'770'000'000'000), "/proc/stat");
  snapshot.kernel =
      Fact<KernelRelease>::known(KernelRelease::parse("5.15.0-119-generic").value(), "/proc/sys/kernel/osrelease");
  snapshot.architecture = Fact<std::string>::known("x86_64", "/proc/sys/kernel/arch");
  snapshot.os = jammy();
  snapshot.loaded_driver = Fact<DriverVersion>::known(driver(), "/sys/module/nvidia/version");
  snapshot.loaded_flavour = Fact<ModuleFlavour>::known(ModuleFlavour::Open, "/proc/driver/nvidia/version");
  snapshot.l4t_release = Fact<std::string>::absent("/proc/driver/nvidia/version");
  const std::string modules = "/lib/modules/5.15.0-119-generic";
  const std::string module = modules + "/updates/dkms/nvidia.ko";
  snapshot.module_file = Fact<ModuleFile>::known(
      ModuleFile{module, Fact<DriverVersion>::known(driver(), module), snapshot.kernel, snapshot.loaded_flavour},
      modules);
  snapshot.libraries = libraries();
  snapshot.driver_container = Fact<DriverContainer>::absent("/run/nvidia/driver");
  snapshot.gpus = gpus();
  add_bench_facts(snapshot, index);
  return snapshot;
}

Snapshot read_again(Snapshot snapshot) {
  snapshot.architecture = Fact<std::string>::known("x86_64", "/proc/sys/kernel/arch, read again");
  return snapshot;
}

Snapshot without_driver(Snapshot snapshot) {
  snapshot.loaded_driver = Fact<DriverVersion>::absent("/sys/module/nvidia");
  snapshot.loaded_flavour = Fact<ModuleFlavour>::absent("/sys/module/nvidia");
  snapshot.module_file = Fact<ModuleFile>::absent("/lib/modules/5.15.0-119-generic");
  return snapshot;
}

}  // namespace gpuskew
