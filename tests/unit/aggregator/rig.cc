#include "tests/unit/aggregator/rig.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"

namespace gpuskew {

namespace {

constexpr const char* kMl = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07";

Gpu gpu(const std::string& address, Fact<std::string> driver) {
  return Gpu{address, 0x20b5, std::move(driver)};
}

Snapshot base_snapshot(const std::string& node) {
  Snapshot snapshot;
  snapshot.node = node;
  snapshot.agent_version = "0.1.0";
  snapshot.taken_at = kNow;
  snapshot.boot_id =
      Fact<std::string>::known("11111111-2222-3333-4444-555555555555", "/proc/sys/kernel/random/boot_id");
  snapshot.boot_time = Fact<Time>::known(kNow - std::chrono::hours(48), "/proc/stat");
  snapshot.kernel =
      Fact<KernelRelease>::known(KernelRelease::parse("5.15.0-119-generic").value(), "/proc/sys/kernel/osrelease");
  snapshot.architecture = Fact<std::string>::known("x86_64", "/proc/sys/kernel/arch");
  OsIdentity os;
  os.id = "ubuntu";
  os.version_id = "22.04";
  os.pretty_name = "Ubuntu 22.04.4 LTS";
  snapshot.os = Fact<OsIdentity>::known(os, "/etc/os-release");
  snapshot.loaded_driver = Fact<DriverVersion>::absent("/sys/module/nvidia/version");
  snapshot.loaded_flavour = Fact<ModuleFlavour>::absent("/proc/driver/nvidia/version");
  snapshot.l4t_release = Fact<std::string>::absent("/etc/nv_tegra_release");
  snapshot.module_file = Fact<ModuleFile>::absent("/lib/modules/5.15.0-119-generic");
  snapshot.libraries = Fact<std::vector<Library>>::absent("/usr/lib");
  snapshot.driver_container = Fact<DriverContainer>::absent("/run/nvidia/driver");
  snapshot.gpus = Fact<std::vector<Gpu>>::known({}, "/sys/bus/pci/devices");
  return snapshot;
}

std::vector<Gpu> two_gpus(const Fact<std::string>& driver) {
  return {gpu("0000:3b:00.0", driver), gpu("0000:86:00.0", driver)};
}

HistoryStore open_store(const std::filesystem::path& path) {
  Result<HistoryStore> store = HistoryStore::open(path);
  if (!store) {
    throw std::runtime_error(store.error().what);
  }
  return std::move(*store);
}

}  // namespace

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "gpuskew-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("mkdtemp failed");
  }
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TempDir::write(const std::string& name, std::string_view content) const {
  const std::filesystem::path file = path_ / name;
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
  return file;
}

CapturedLog::CapturedLog() : fd_(::memfd_create("log", MFD_CLOEXEC)), log_(fd_, LogLevel::Debug) {}
CapturedLog::~CapturedLog() {
  ::close(fd_);
}

std::string CapturedLog::text() const {
  std::string text;
  std::array<char, 4096> block{};
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(fd_, block.data(), block.size(), at);
    if (got <= 0) {
      return text;
    }
    text.append(block.data(), static_cast<std::size_t>(got));
    at += got;
  }
}

std::size_t CapturedLog::count(std::string_view part) const {
  std::istringstream lines(text());
  std::size_t found = 0;
  for (std::string line; std::getline(lines, line);) {
    found += line.find(part) == std::string::npos ? 0 : 1;
  }
  return found;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Snapshot healthy_snapshot(const std::string& node) {
  Snapshot snapshot = base_snapshot(node);
  const DriverVersion driver = DriverVersion::parse("550.90.07").value();
  snapshot.loaded_driver = Fact<DriverVersion>::known(driver, "/sys/module/nvidia/version");
  snapshot.loaded_flavour = Fact<ModuleFlavour>::known(ModuleFlavour::Proprietary, "/proc/driver/nvidia/version");
  const std::string module = "/lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko";
  snapshot.module_file =
      Fact<ModuleFile>::known(ModuleFile{module, Fact<DriverVersion>::known(driver, module)}, module);
  snapshot.libraries =
      Fact<std::vector<Library>>::known({Library{"libnvidia-ml", driver, kMl, DriverRoot::Host}}, "/usr/lib");
  snapshot.gpus = Fact<std::vector<Gpu>>::known(two_gpus(Fact<std::string>::known("nvidia", "/sys/bus/pci/devices")),
                                                "/sys/bus/pci/devices");
  return snapshot;
}

Snapshot bumped_snapshot(const std::string& node) {
  Snapshot snapshot = base_snapshot(node);
  snapshot.boot_id =
      Fact<std::string>::known("99999999-2222-3333-4444-555555555555", "/proc/sys/kernel/random/boot_id");
  snapshot.boot_time = Fact<Time>::known(kNow - std::chrono::minutes(1), "/proc/stat");
  snapshot.kernel =
      Fact<KernelRelease>::known(KernelRelease::parse("5.15.0-122-generic").value(), "/proc/sys/kernel/osrelease");
  snapshot.module_file = Fact<ModuleFile>::absent("/lib/modules/5.15.0-122-generic");
  snapshot.gpus = Fact<std::vector<Gpu>>::known(two_gpus(Fact<std::string>::absent("/sys/bus/pci/devices")),
                                                "/sys/bus/pci/devices");
  return snapshot;
}

Snapshot plain_snapshot(const std::string& node) {
  return base_snapshot(node);
}

std::string snapshot_message(const Snapshot& snapshot, std::uint64_t sequence) {
  v1::AgentMessage message;
  to_wire(snapshot, *message.mutable_snapshot());
  message.mutable_snapshot()->set_sequence(sequence);
  return message.SerializeAsString();
}

std::string hello_message(const std::string& node, std::uint32_t min_version, std::uint32_t max_version) {
  v1::AgentMessage message;
  message.mutable_hello()->set_node(node);
  message.mutable_hello()->set_min_version(min_version);
  message.mutable_hello()->set_max_version(max_version);
  message.mutable_hello()->set_agent_version("0.1.0");
  return message.SerializeAsString();
}

std::string heartbeat_message(std::uint64_t sequence) {
  v1::AgentMessage message;
  message.mutable_heartbeat()->set_sequence(sequence);
  return message.SerializeAsString();
}

std::string snapshot_wire(const Snapshot& snapshot) {
  v1::Snapshot message;
  to_wire(snapshot, message);
  return message.SerializeAsString();
}

Rig::Rig(JudgePolicy policy) : store(open_store(directory.path() / "history.db")), fleet(std::move(policy)) {}

void Rig::report(const Snapshot& snapshot, Time now) {
  const Result<void> taken = recorder.report(snapshot, snapshot_wire(snapshot), now);
  if (!taken) {
    throw std::runtime_error(taken.error().what);
  }
  writer.flush(now);
}

}  // namespace gpuskew
