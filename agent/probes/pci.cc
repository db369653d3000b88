#include "agent/probes/pci.h"

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
  return Fact<std::string>::known(std::move(name), path);
}

// nullopt: not a GPU.
Result<std::optional<Gpu>> read_gpu(const HostRoot& root, const std::string& address) {
  const std::string device = std::string(kDevices) + "/" + address;
  const auto vendor = read_hex(root, device + "/vendor");
  if (!vendor) {
    return tl::unexpected(vendor.error());
  }
  if (*vendor != kNvidia) {
    return std::nullopt;
  }
  const auto full_class = read_hex(root, device + "/class");
  if (!full_class) {
    return tl::unexpected(full_class.error());
  }
  const std::uint32_t device_class = *full_class >> 8;  // the last byte is the programming interface
  if (device_class != kVgaController && device_class != k3dController) {
    return std::nullopt;
  }
  const auto physical_function = root.read_link(device + "/physfn");
  if (physical_function) {
    return std::nullopt;
  }
  if (physical_function.error().code != ErrorCode::NotFound) {
    return tl::unexpected(physical_function.error());
  }
  const auto id = read_hex(root, device + "/device");
  if (!id) {
    return tl::unexpected(id.error());
  }
  if (*id > UINT16_MAX) {
    return fail(ErrorCode::Malformed, "reading " + device + "/device: more than 16 bits");
  }
  return Gpu{address, static_cast<std::uint16_t>(*id), read_bound_driver(root, device)};
}

Fact<std::vector<Gpu>> gpus_without_pci(const HostRoot& root, const Error& why) {
  if (why.code != ErrorCode::NotFound || root.status(kPci)) {
    return Fact<std::vector<Gpu>>::unknown(why, kDevices);
  }
  const auto buses = root.list(kBuses);
  if (buses && !buses->empty()) {
    return Fact<std::vector<Gpu>>::known({}, kBuses);
  }
  return Fact<std::vector<Gpu>>::unknown(
      buses ? Error{ErrorCode::NotFound, std::string("listing ") + kBuses + ": empty, so sysfs is not there"}
            : buses.error(),
      kBuses);
}

}  // namespace

Fact<std::vector<Gpu>> read_gpus(const HostRoot& root) {
  const auto devices = root.list(kDevices);
  if (!devices) {
    return gpus_without_pci(root, devices.error());
  }
  std::vector<Gpu> gpus;
  for (const auto& entry : *devices) {
    auto gpu = read_gpu(root, entry.name);
    if (!gpu) {
      const auto still_there = root.status(std::string(kDevices) + "/" + entry.name);
      if (!still_there && still_there.error().code == ErrorCode::NotFound) {
        continue;  // unplugged between the listing and now
      }
      return Fact<std::vector<Gpu>>::unknown(gpu.error(), kDevices);
    }
    if (!*gpu) {
      continue;
    }
    if (gpus.size() == Snapshot::kMaxGpus) {
      return Fact<std::vector<Gpu>>::unknown(
          {ErrorCode::TooLarge, "more than " + std::to_string(Snapshot::kMaxGpus) + " GPUs"}, kDevices);
    }
    gpus.push_back(std::move(**gpu));
  }
  return Fact<std::vector<Gpu>>::known(std::move(gpus), kDevices);
}

}  // namespace gpuskew
