#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/label.h"
#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "proto/from_wire_facts.h"
#include "proto/text.h"
#include "proto/wire_read.h"

namespace gpuskew {
namespace {

using wire::FieldReader;

/// Far more than any LastGood within the text limits needs.
constexpr std::size_t kMaxLastGoodBytes = 64u << 10;

/// What becomes of a fact that is not in the message.
enum class NotThere : std::uint8_t { IsUnknown, Stays };

/// Reads `from`'s facts into `to`.
class SnapshotReader {
 public:
  SnapshotReader(v1::Snapshot& from, Snapshot& to, NotThere not_there) : from_(from), to_(to), not_there_(not_there) {}

  void read_facts() {
    using Wire = v1::Snapshot;
    read(&Wire::has_boot_id, &Wire::mutable_boot_id, to_.boot_id, "boot id", wire::read_text);
    read(&Wire::has_boot_time, &Wire::mutable_boot_time, to_.boot_time, "boot time", wire::read_time);
    read(&Wire::has_kernel, &Wire::mutable_kernel, to_.kernel, "kernel", wire::read_parsed<KernelRelease>);
    read(&Wire::has_architecture, &Wire::mutable_architecture, to_.architecture, "architecture", wire::read_text);
    read(&Wire::has_os, &Wire::mutable_os, to_.os, "os-release", wire::read_os);
    read_driver_facts();
    read_device_facts();
    read_boot_facts();
    read(&Wire::has_runtime, &Wire::mutable_runtime, to_.runtime, "runtime", wire::read_runtime);
    read(&Wire::has_cdi_specs, &Wire::mutable_cdi_specs, to_.cdi_specs, "CDI specifications", wire::read_cdi_specs);
    read(&Wire::has_kubelet, &Wire::mutable_kubelet, to_.kubelet, "kubelet", wire::read_kubelet);
  }

 private:
  template <class WireFact, class T, class Read>
  void read(bool (v1::Snapshot::*has)() const, WireFact* (v1::Snapshot::*fact)(), Fact<T>& to, std::string_view field,
            Read read_fact) {
    if ((from_.*has)()) {
      to = read_fact(*(from_.*fact)(), field);
    } else if (not_there_ == NotThere::IsUnknown) {
      to = Fact<T>::unknown(wire::not_reported(), "");
    }
  }

  void read_driver_facts() {
    using Wire = v1::Snapshot;
    read(&Wire::has_loaded_driver, &Wire::mutable_loaded_driver, to_.loaded_driver, "loaded driver",
         wire::read_parsed<DriverVersion>);
    read(&Wire::has_loaded_flavour, &Wire::mutable_loaded_flavour, to_.loaded_flavour, "loaded flavour",
         wire::read_flavour);
    read(&Wire::has_l4t_release, &Wire::mutable_l4t_release, to_.l4t_release, "L4T release", wire::read_text);
    read(&Wire::has_wsl, &Wire::mutable_wsl, to_.wsl, "WSL", wire::read_text);
    read(&Wire::has_module_file, &Wire::mutable_module_file, to_.module_file, "module file", wire::read_module_file);
    read(&Wire::has_modules, &Wire::mutable_modules, to_.modules, "modules", wire::read_modules);
    read(&Wire::has_libraries, &Wire::mutable_libraries, to_.libraries, "libraries", wire::read_libraries);
    read(&Wire::has_fabric_manager, &Wire::mutable_fabric_manager, to_.fabric_manager, "fabric manager",
         wire::read_parsed<DriverVersion>);
    read(&Wire::has_driver_container, &Wire::mutable_driver_container, to_.driver_container, "driver container",
         wire::read_container);
    read(&Wire::has_validations, &Wire::mutable_validations, to_.validations, "validations", wire::read_validations);
    read(&Wire::has_installs, &Wire::mutable_installs, to_.installs, "installs", wire::read_installs);
  }

  void read_device_facts() {
    using Wire = v1::Snapshot;
    read(&Wire::has_gpus, &Wire::mutable_gpus, to_.gpus, "GPUs", wire::read_gpus);
    read(&Wire::has_pci_functions, &Wire::mutable_pci_functions, to_.pci_functions, "PCI functions",
         wire::read_pci_functions);
    read(&Wire::has_device_nodes, &Wire::mutable_device_nodes, to_.device_nodes, "device nodes",
         wire::read_device_nodes);
    read(&Wire::has_holders, &Wire::mutable_holders, to_.holders, "device holders", wire::read_holders);
    read(&Wire::has_kernel_log, &Wire::mutable_kernel_log, to_.kernel_log, "kernel log", wire::read_kernel_log);
  }

  void read_boot_facts() {
    using Wire = v1::Snapshot;
    read(&Wire::has_command_line, &Wire::mutable_command_line, to_.command_line, "command line",
         wire::read_command_line);
    read(&Wire::has_secure_boot, &Wire::mutable_secure_boot, to_.secure_boot, "secure boot", wire::read_bool);
    read(&Wire::has_lockdown, &Wire::mutable_lockdown, to_.lockdown, "lockdown", wire::read_text);
    read(&Wire::has_kernels, &Wire::mutable_kernels, to_.kernels, "kernels", wire::read_kernels);
    read(&Wire::has_next_kernel, &Wire::mutable_next_kernel, to_.next_kernel, "next kernel", wire::read_next_kernel);
    read(&Wire::has_dkms, &Wire::mutable_dkms, to_.dkms, "dkms", wire::read_dkms);
    read(&Wire::has_boot_builders, &Wire::mutable_boot_builders, to_.boot_builders, "boot builders",
         wire::read_boot_builders);
    read(&Wire::has_reboot_required, &Wire::mutable_reboot_required, to_.reboot_required, "reboot required",
         wire::read_reboot_required);
  }

  v1::Snapshot& from_;
  Snapshot& to_;
  NotThere not_there_;
};

/// A bad memory is nothing remembered.
std::optional<LastGood> read_remembered(const v1::LastGood& from) {
  Result<LastGood> remembered = from_wire(from);
  return remembered ? std::optional(std::move(*remembered)) : std::nullopt;
}

void read_all(v1::Snapshot& from, Snapshot& to, NotThere not_there) {
  to.taken_at = from_unix_ms(std::clamp<std::int64_t>(from.taken_unix_ms(), 0, wire::kMaxUnixMs));
  if (!from.agent_version().empty()) {
    to.agent_version = wire::take_prose(from.mutable_agent_version());
  }
  SnapshotReader(from, to, not_there).read_facts();
  if (from.has_expected_gpus()) {
    to.expected_gpus = from.expected_gpus();
  }
  if (from.has_remembered()) {
    to.remembered = read_remembered(from.remembered());
  }
}

}  // namespace

Result<Snapshot> from_wire(v1::Snapshot&& from) {
  if (!is_dns_subdomain(from.node())) {
    return fail(ErrorCode::Malformed, quoted_text(from.node()) + " is no node name (RFC 1123 subdomain)");
  }
  Result<Snapshot> taken(tl::in_place);
  taken->node = std::move(*from.mutable_node());
  read_all(from, *taken, NotThere::IsUnknown);
  return taken;
}

void update_from_wire(v1::Snapshot&& changed, Snapshot& to) {
  read_all(changed, to, NotThere::Stays);
}

Result<Snapshot> from_wire(const v1::Snapshot& from) {
  v1::Snapshot copy = from;
  return from_wire(std::move(copy));
}

Result<LastGood> from_wire(const v1::LastGood& from) {
  LastGood to;
  FieldReader in;
  in.time(from.at_unix_ms(), to.at, "time");
  to.boot_id = shown_text(from.boot_id());
  in.parsed(from.kernel(), to.kernel, "kernel");
  in.parsed(from.driver(), to.driver, "driver");
  if (from.has_gpu_count() && in.check_count(from.gpu_count(), Snapshot::kMaxGpus, "GPUs")) {
    to.gpu_count = from.gpu_count();
  }
  to.from_container = from.from_container();
  in.items(&from.gpus(), to.gpus, Snapshot::kMaxGpus, "GPUs",
           [](const std::string& address, std::string& gpu, FieldReader& reader) {
             std::string copy = address;
             reader.pci_address(&copy, gpu);
           });
  if (in.error()) {
    return fail("last good state", *in.error());
  }
  return to;
}

Result<LastGood> decode_last_good(std::string_view bytes) {
  v1::LastGood wire;
  if (bytes.size() > kMaxLastGoodBytes) {
    return fail(ErrorCode::TooLarge, "last good state: over " + std::to_string(kMaxLastGoodBytes) + " bytes");
  }
  if (!wire.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(ErrorCode::Malformed, "last good state: not a LastGood message");
  }
  return from_wire(wire);
}

}  // namespace gpuskew
