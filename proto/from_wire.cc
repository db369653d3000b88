#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/label.h"
#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "proto/text.h"

// A text on the wire is a std::string already: it is moved, not copied, into the fact. At 100,000 reports a second that
// is a quarter of what a report costs.

namespace gpuskew {
namespace {

/// 9999-12-31T23:59:59.999Z. Sums and differences of times up to here can not overflow.
constexpr std::int64_t kMaxUnixMs = 253'402'300'799'999;

/// Far more than any LastGood within the text limits needs.
constexpr std::size_t kMaxLastGoodBytes = 64u << 10;

bool is_time(std::int64_t unix_ms) {
  return unix_ms >= 0 && unix_ms <= kMaxUnixMs;
}

std::string take(std::string* text) {
  return take_shown_text(std::move(*text));
}

Error error_from(v1::Unknown& from) {
  constexpr std::array kCodes{ErrorCode::NotFound, ErrorCode::Denied,      ErrorCode::Malformed,   ErrorCode::TooLarge,
                              ErrorCode::Timeout,  ErrorCode::Unreachable, ErrorCode::Unsupported, ErrorCode::Internal};
  const auto* code = std::find_if(kCodes.begin(), kCodes.end(),
                                  [&from](ErrorCode candidate) { return to_string(candidate) == from.code(); });
  // A code of a later version is no reason to lose what it says.
  return Error{code == kCodes.end() ? ErrorCode::Internal : *code,
               from.because().empty() ? "the agent gives no reason" : take(from.mutable_because())};
}

/// `read_known(wire fact)` gives a Result<T>; its error makes the fact unknown, with the field's name before it.
template <class T, class WireFact, class ReadKnown>
Fact<T> read_fact(WireFact& from, std::string_view field, ReadKnown read_known) {
  std::string source = take(from.mutable_source());
  if (from.has_absent()) {
    return Fact<T>::absent(std::move(source));
  }
  if (from.has_unknown()) {
    return Fact<T>::unknown(error_from(*from.mutable_unknown()), std::move(source));
  }
  if (from.state_case() == WireFact::STATE_NOT_SET) {
    return Fact<T>::unknown(Error{ErrorCode::Unsupported, "not reported by this agent"}, std::move(source));
  }
  Result<T> value = read_known(from);
  if (!value) {
    Error why{value.error().code, shown_text(std::string(field) + ": " + value.error().what)};
    return Fact<T>::unknown(std::move(why), std::move(source));
  }
  return Fact<T>::known(std::move(*value), std::move(source));
}

Fact<std::string> read_text(v1::TextFact& from, std::string_view field) {
  return read_fact<std::string>(from, field,
                                [](v1::TextFact& fact) { return checked_text(std::move(*fact.mutable_known())); });
}

/// For types with a parse function of their own. Text past the limit is not handed on: a parser may quote it.
template <class T>
Result<T> parse_limited(const std::string& text) {
  if (text.size() > kMaxWireText) {
    return fail(ErrorCode::TooLarge, "longer than " + std::to_string(kMaxWireText) + " bytes");
  }
  return T::parse(text);
}

template <class T>
Fact<T> read_parsed(v1::TextFact& from, std::string_view field) {
  return read_fact<T>(from, field, [](const v1::TextFact& fact) { return parse_limited<T>(fact.known()); });
}

Result<Time> read_time(const v1::TimeFact& from) {
  if (!is_time(from.known_unix_ms())) {
    return fail(ErrorCode::Malformed, std::to_string(from.known_unix_ms()) + " ms is not within 1970 to 9999");
  }
  return from_unix_ms(from.known_unix_ms());
}

Result<ModuleFlavour> read_flavour(const v1::TextFact& from) {
  for (const ModuleFlavour flavour : {ModuleFlavour::Proprietary, ModuleFlavour::Open}) {
    if (from.known() == to_string(flavour)) {
      return flavour;
    }
  }
  return fail(ErrorCode::Malformed, quoted_text(from.known()) + " is no module flavour known here");
}

Result<OsIdentity> read_os(v1::OsFact& fact) {
  v1::Os& from = *fact.mutable_known();
  Result<std::string> id = checked_text(std::move(*from.mutable_id()));
  if (!id) {
    return fail("ID", id.error());
  }
  OsIdentity os;
  os.id = std::move(*id);
  if (from.has_version_id()) {
    os.version_id = take(from.mutable_version_id());
  }
  os.pretty_name = take(from.mutable_pretty_name());
  os.variant_id = take(from.mutable_variant_id());
  os.build_id = take(from.mutable_build_id());
  os.ostree_version = take(from.mutable_ostree_version());
  return os;
}

Result<ModuleFile> read_module_file(v1::ModuleFileFact& fact) {
  v1::ModuleFile& from = *fact.mutable_known();
  Result<std::string> path = checked_text(std::move(*from.mutable_path()));
  if (!path) {
    return fail("path", path.error());
  }
  return ModuleFile{std::move(*path), read_parsed<DriverVersion>(*from.mutable_version(), "version")};
}

// One bad item makes the whole list unknown: a list without it would be a wrong count.
Result<std::vector<Library>> read_libraries(v1::LibrariesFact& fact) {
  std::vector<Library> libraries;
  libraries.reserve(static_cast<std::size_t>(fact.known().items_size()));
  for (v1::Library& from : *fact.mutable_known()->mutable_items()) {
    Result<std::string> name = checked_text(std::move(*from.mutable_name()));
    if (!name) {
      return fail("name", name.error());
    }
    Result<DriverVersion> version = parse_limited<DriverVersion>(from.version());
    if (!version) {
      return fail(*name, version.error());
    }
    const DriverRoot root = from.from_container() ? DriverRoot::Container : DriverRoot::Host;
    libraries.push_back(Library{std::move(*name), std::move(*version), take(from.mutable_path()), root});
  }
  return libraries;
}

Result<DriverContainer> read_container(v1::DriverContainerFact& fact) {
  Result<std::string> root = checked_text(std::move(*fact.mutable_known()->mutable_root()));
  if (!root) {
    return fail("root", root.error());
  }
  return DriverContainer{std::move(*root), fact.known().mounted()};
}

/// "0000:3b:00.0"; the domain has 4 to 8 digits (behind Intel's VMD it has 5).
bool is_pci_address(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const std::size_t domain = std::min(text.find_first_not_of(kHex), text.size());
  if (domain < 4 || domain > 8) {
    return false;
  }
  text.remove_prefix(domain);
  return text.size() == 8 && text[0] == ':' && text.substr(1, 2).find_first_not_of(kHex) == std::string_view::npos &&
         text[3] == ':' && text.substr(4, 2).find_first_not_of(kHex) == std::string_view::npos && text[6] == '.' &&
         text[7] >= '0' && text[7] <= '7';
}

Result<std::vector<Gpu>> read_gpus(v1::GpusFact& fact) {
  std::vector<Gpu> gpus;
  gpus.reserve(static_cast<std::size_t>(fact.known().items_size()));
  for (v1::Gpu& from : *fact.mutable_known()->mutable_items()) {
    if (!is_pci_address(from.address())) {
      return fail(ErrorCode::Malformed, quoted_text(from.address()) + " is no PCI address");
    }
    if (from.device_id() > UINT16_MAX) {
      return fail(ErrorCode::Malformed,
                  from.address() + ": device id " + std::to_string(from.device_id()) + " is over 65535");
    }
    gpus.push_back(Gpu{std::move(*from.mutable_address()), static_cast<std::uint16_t>(from.device_id()),
                       read_text(*from.mutable_driver(), "driver")});
  }
  return gpus;
}

std::optional<LastGood> read_remembered(const v1::Snapshot& from) {
  if (!from.has_remembered()) {
    return std::nullopt;
  }
  Result<LastGood> remembered = from_wire(from.remembered());
  if (!remembered) {
    return std::nullopt;
  }
  return std::move(*remembered);
}

/// TooLarge when `count` is over `limit`.
Result<void> check_count(std::size_t count, std::size_t limit, const char* what) {
  if (count > limit) {
    return fail(ErrorCode::TooLarge,
                std::to_string(count) + " " + what + ", at most " + std::to_string(limit) + " are taken");
  }
  return {};
}

}  // namespace

Result<Snapshot> from_wire(v1::Snapshot&& from) {
  if (!is_dns_subdomain(from.node())) {
    return fail(ErrorCode::Malformed, quoted_text(from.node()) + " is no node name (RFC 1123 subdomain)");
  }
  const auto gpu_count = static_cast<std::size_t>(from.gpus().known().items_size());
  if (Result<void> fits = check_count(gpu_count, Snapshot::kMaxGpus, "GPUs"); !fits) {
    return fail(from.node(), fits.error());
  }
  const auto library_count = static_cast<std::size_t>(from.libraries().known().items_size());
  if (Result<void> fits = check_count(library_count, Snapshot::kMaxLibraries, "libraries"); !fits) {
    return fail(from.node(), fits.error());
  }
  Result<Snapshot> taken(tl::in_place);
  Snapshot& to = *taken;
  to.node = std::move(*from.mutable_node());
  to.agent_version = take(from.mutable_agent_version());
  to.taken_at = from_unix_ms(std::clamp<std::int64_t>(from.taken_unix_ms(), 0, kMaxUnixMs));
  to.boot_id = read_text(*from.mutable_boot_id(), "boot id");
  to.boot_time = read_fact<Time>(*from.mutable_boot_time(), "boot time", read_time);
  to.kernel = read_parsed<KernelRelease>(*from.mutable_kernel(), "kernel");
  to.architecture = read_text(*from.mutable_architecture(), "architecture");
  to.os = read_fact<OsIdentity>(*from.mutable_os(), "os-release", read_os);
  to.loaded_driver = read_parsed<DriverVersion>(*from.mutable_loaded_driver(), "loaded driver");
  to.loaded_flavour = read_fact<ModuleFlavour>(*from.mutable_loaded_flavour(), "loaded flavour", read_flavour);
  to.l4t_release = read_text(*from.mutable_l4t_release(), "L4T release");
  to.module_file = read_fact<ModuleFile>(*from.mutable_module_file(), "module file", read_module_file);
  to.libraries = read_fact<std::vector<Library>>(*from.mutable_libraries(), "libraries", read_libraries);
  to.driver_container =
      read_fact<DriverContainer>(*from.mutable_driver_container(), "driver container", read_container);
  to.gpus = read_fact<std::vector<Gpu>>(*from.mutable_gpus(), "GPUs", read_gpus);
  to.remembered = read_remembered(from);
  return taken;
}

Result<Snapshot> from_wire(const v1::Snapshot& from) {
  v1::Snapshot copy = from;
  return from_wire(std::move(copy));
}

Result<LastGood> from_wire(const v1::LastGood& from) {
  if (!is_time(from.at_unix_ms())) {
    return fail(ErrorCode::Malformed, "last good state: its time is not within 1970 to 9999");
  }
  Result<KernelRelease> kernel = parse_limited<KernelRelease>(from.kernel());
  if (!kernel) {
    return fail("last good state: kernel", kernel.error());
  }
  Result<DriverVersion> driver = parse_limited<DriverVersion>(from.driver());
  if (!driver) {
    return fail("last good state: driver", driver.error());
  }
  LastGood to{from_unix_ms(from.at_unix_ms()),
              shown_text(from.boot_id()),
              std::move(*kernel),
              std::move(*driver),
              {},
              from.from_container()};
  if (from.has_gpu_count()) {
    if (Result<void> fits = check_count(from.gpu_count(), Snapshot::kMaxGpus, "GPUs"); !fits) {
      return fail("last good state", fits.error());
    }
    to.gpu_count = from.gpu_count();
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
