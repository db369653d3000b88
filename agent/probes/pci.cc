#include "agent/probes/pci.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gpuskew {
namespace {

constexpr const char* kBuses = "/sys/bus";
constexpr const char* kPci = "/sys/bus/pci";
constexpr const char* kDevices = "/sys/bus/pci/devices";

constexpr std::uint32_t kNvidia = 0x10de;
constexpr std::uint32_t kVgaController = 0x0300;
constexpr std::uint32_t k3dController = 0x0302;
constexpr std::uint32_t kAudio = 0x0403;
constexpr std::uint32_t kBridgeClass = 0x06;  // the upper byte of every bridge
constexpr std::uint32_t kOtherBridge = 0x0680;
constexpr std::uint32_t kUsb = 0x0c03;
constexpr std::uint32_t kSerialBus = 0x0c80;  // the USB-C controller of Turing cards

// Blocks of ids that are NVSwitches: of V100 (DGX-2's), A100 (two) and H100, H200 (22a3). The later three are the
// tables in NVIDIA's open kernel modules (nvswitch_lr10_device_ids, nvswitch_ls10_device_ids). Class 0680 alone says
// nothing: nForce chipsets have it, too.
constexpr std::array<std::pair<std::uint16_t, std::uint16_t>, 4> kNvSwitches{{
    {0x1ac2, 0x1ac2},
    {0x1ae8, 0x1ae8},
    {0x1af0, 0x1aff},
    {0x22a0, 0x22a7},
}};

FunctionKind kind_of(std::uint32_t device_class, std::uint16_t id) {
  const auto holds = [id](const auto& block) { return block.first <= id && id <= block.second; };
  switch (device_class) {
    case kAudio:
      return FunctionKind::Audio;
    case kUsb:
      return FunctionKind::Usb;
    case kSerialBus:
      return FunctionKind::UsbTypeC;
    case kOtherBridge:
      return std::any_of(kNvSwitches.begin(), kNvSwitches.end(), holds) ? FunctionKind::NvSwitch : FunctionKind::Bridge;
    default:
      return device_class >> 8 == kBridgeClass ? FunctionKind::Bridge : FunctionKind::Other;
  }
}

// "0x10de\n"
Result<std::uint32_t> read_hex(const HostRoot& root, const std::string& path) {
  const auto text = root.read_line(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  std::string_view digits = *text;
  std::uint32_t value = 0;
  constexpr int kHex = 16;
  const bool prefixed = digits.starts_with("0x");
  digits.remove_prefix(prefixed ? 2 : 0);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, kHex);
  if (!prefixed || error != std::errc() || end != digits.data() + digits.size()) {
    return fail(ErrorCode::Malformed, "reading " + path + ": not a hexadecimal number");
  }
  return value;
}

Fact<std::string> read_bound_driver(const HostRoot& root, const std::string& device) {
  const std::string path = device + "/driver";
  const auto target = root.read_link(path);
  if (!target) {
    return Fact<std::string>::from(tl::unexpected(target.error()), path);
  }
  std::string name = target->substr(target->rfind('/') + 1);
  if (name.empty() || name == "." || name == "..") {
    return Fact<std::string>::unknown({ErrorCode::Malformed, "reading " + path + ": the link names no driver"}, path);
  }
  // Nova's driver bears another name than its module, and it is the module that one loads or blacklists.
  return Fact<std::string>::known(name == "NovaCore" ? "nova_core" : std::move(name), path);
}

Result<std::uint16_t> read_device_id(const HostRoot& root, const std::string& device) {
  const auto id = read_hex(root, device + "/device");
  if (!id) {
    return tl::unexpected(id.error());
  }
  if (*id > UINT16_MAX) {
    return fail(ErrorCode::Malformed, "reading " + device + "/device: more than 16 bits");
  }
  return static_cast<std::uint16_t>(*id);
}

struct Found {
  std::vector<Gpu> gpus;
  std::vector<PciFunction> functions;
  std::optional<Error> functions_error;  // of the first function that could not be read, or that was one too many
};

// A class that no GPU has: trouble with it is no trouble with the GPUs.
void add_function(const HostRoot& root, const std::string& address, std::uint32_t device_class, bool is_virtual,
                  Found& found) {
  const std::string device = std::string(kDevices) + "/" + address;
  const auto id = read_device_id(root, device);
  if (!id) {
    found.functions_error = found.functions_error.value_or(id.error());
  } else if (found.functions.size() == kMaxPciFunctions) {
    found.functions_error =
        Error{ErrorCode::TooLarge, "more than " + std::to_string(kMaxPciFunctions) + " functions that are no GPUs"};
  } else {
    found.functions.push_back({address, *id, is_virtual ? FunctionKind::VirtualFunction : kind_of(device_class, *id)});
  }
}

// Adds one device to what was found, if it is NVIDIA's; whether it is.
Result<bool> read_device(const HostRoot& root, const std::string& address, Found& found) {
  const std::string device = std::string(kDevices) + "/" + address;
  const auto vendor = read_hex(root, device + "/vendor");
  if (!vendor) {
    return tl::unexpected(vendor.error());
  }
  if (*vendor != kNvidia) {
    return false;
  }
  const auto full_class = read_hex(root, device + "/class");
  if (!full_class) {
    return tl::unexpected(full_class.error());
  }
  const std::uint32_t device_class = *full_class >> 8;  // the last byte is the programming interface
  if (device_class != kVgaController && device_class != k3dController) {
    add_function(root, address, device_class, false, found);
    return true;
  }
  const auto physical_function = root.read_link(device + "/physfn");
  if (physical_function) {
    add_function(root, address, device_class, true, found);
    return true;
  }
  if (physical_function.error().code != ErrorCode::NotFound) {
    return tl::unexpected(physical_function.error());
  }
  const auto id = read_device_id(root, device);
  if (!id) {
    return tl::unexpected(id.error());
  }
  if (found.gpus.size() == Snapshot::kMaxGpus) {
    return fail(ErrorCode::TooLarge, "more than " + std::to_string(Snapshot::kMaxGpus) + " GPUs");
  }
  found.gpus.push_back(Gpu{address, *id, read_bound_driver(root, device)});
  return true;
}

PciDevices unknown_devices(const Error& why, const char* source) {
  return {Fact<std::vector<Gpu>>::unknown(why, source), Fact<std::vector<PciFunction>>::unknown(why, source)};
}

PciDevices devices_without_pci(const HostRoot& root, const Error& why) {
  if (why.code != ErrorCode::NotFound || root.status(kPci)) {
    return unknown_devices(why, kDevices);
  }
  const auto buses = root.list(kBuses);
  if (buses && !buses->empty()) {
    return {Fact<std::vector<Gpu>>::known({}, kBuses), Fact<std::vector<PciFunction>>::known({}, kBuses)};
  }
  return unknown_devices(
      buses ? Error{ErrorCode::NotFound, std::string("listing ") + kBuses + ": empty, so sysfs is not there"}
            : buses.error(),
      kBuses);
}

}  // namespace

PciDevices read_pci(const HostRoot& root, PciCache& cache) {
  const auto devices = root.list(kDevices);
  if (!devices) {
    return devices_without_pci(root, devices.error());
  }
  Found found;
  std::map<std::string, std::uint64_t> foreign;
  for (const auto& entry : *devices) {
    const auto is_ours = cache.is_foreign(entry) ? Result<bool>(false) : read_device(root, entry.name, found);
    if (is_ours) {
      if (!*is_ours && foreign.size() < PciCache::kMaxDevices) {
        foreign.emplace(entry.name, entry.inode);
      }
      continue;
    }
    const auto still_there = root.status(std::string(kDevices) + "/" + entry.name);
    if (!still_there && still_there.error().code == ErrorCode::NotFound) {
      continue;  // unplugged between the listing and now
    }
    return unknown_devices(is_ours.error(), kDevices);
  }
  cache.remember(std::move(foreign));
  PciDevices result;
  result.gpus = Fact<std::vector<Gpu>>::known(std::move(found.gpus), kDevices);
  result.functions = found.functions_error
                         ? Fact<std::vector<PciFunction>>::unknown(*found.functions_error, kDevices)
                         : Fact<std::vector<PciFunction>>::known(std::move(found.functions), kDevices);
  return result;
}

}  // namespace gpuskew
