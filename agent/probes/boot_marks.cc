#include "agent/probes/boot_marks.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gpuskew {
namespace {

constexpr const char* kOwnUnits = "/etc/systemd/system";
// In the order systemd looks: what an administrator wrote comes first.
constexpr std::array<std::string_view, 5> kUnitDirectories = {kOwnUnits, "/run/systemd/system",
                                                              "/usr/local/lib/systemd/system",
                                                              "/usr/lib/systemd/system", "/lib/systemd/system"};
constexpr std::array<std::string_view, 2> kBuilders = {"dkms", "akmods"};
constexpr std::size_t kMaxUnits = 4096;

// "dkms" of dkms.service and dkms@5.15.0.service.
std::optional<std::string_view> builder_of(std::string_view unit) {
  constexpr std::string_view kSuffix = ".service";
  if (!unit.ends_with(kSuffix)) {
    return std::nullopt;
  }
  const std::string_view name = unit.substr(0, std::min(unit.find('@'), unit.size() - kSuffix.size()));
  const auto* found = std::find(kBuilders.begin(), kBuilders.end(), name);
  return found == kBuilders.end() ? std::nullopt : std::optional(*found);
}

// The file systemd takes for this unit: there, and no link to /dev/null.
Result<bool> is_startable(const HostRoot& root, const std::string& unit) {
  const std::size_t at = unit.find('@');
  const std::string file = at == std::string::npos ? unit : unit.substr(0, at + 1) + ".service";
  for (const std::string_view directory : kUnitDirectories) {
    for (const std::string& name : {unit, file}) {
      const std::string path = std::string(directory) + "/" + name;
      const auto target = root.read_link(path);
      if (target && *target == "/dev/null") {
        return false;
      }
      const auto status = root.status(path);
      if (status) {
        return status->kind == FileKind::Regular && status->size > 0;  // an empty file masks, too
      }
      if (status.error().code != ErrorCode::NotFound) {
        return tl::unexpected(status.error());
      }
    }
  }
  return false;
}

}  // namespace

Fact<std::vector<BootBuilder>> read_boot_builders(const HostRoot& root) {
  using Builders = Fact<std::vector<BootBuilder>>;
  std::vector<BootBuilder> builders;
  bool any_directory = false;
  for (const std::string_view place : kUnitDirectories) {
    const std::string directory(place);
    const auto targets = root.list(directory, kMaxUnits);
    if (!targets) {
      if (targets.error().code != ErrorCode::NotFound) {
        return Builders::unknown(targets.error(), directory);
      }
      continue;
    }
    any_directory = true;
    for (const auto& target : *targets) {
      if (!target.name.ends_with(".wants") && !target.name.ends_with(".requires")) {
        continue;
      }
      const std::string wants = directory + "/" + target.name;
      const auto units = root.list(wants, kMaxUnits);
      if (!units) {
        return Builders::unknown(units.error(), wants);
      }
      for (const auto& unit : *units) {
        const auto name = builder_of(unit.name);
        const bool is_known = name && std::any_of(builders.begin(), builders.end(),
                                                  [&name](const BootBuilder& known) { return known.name == *name; });
        if (!name || is_known) {
          continue;
        }
        const auto startable = is_startable(root, unit.name);
        if (!startable) {
          return Builders::unknown(startable.error(), wants);
        }
        if (*startable && builders.size() < Snapshot::kMaxBootBuilders) {
          builders.push_back(BootBuilder{std::string(*name), wants + "/" + unit.name});
        }
      }
    }
  }
  if (!any_directory) {
    return Builders::unknown({ErrorCode::NotFound, "no directory of systemd units is there"}, kOwnUnits);
  }
  return Builders::known(std::move(builders), kOwnUnits);
}

Fact<RebootRequired> read_reboot_required(const HostRoot& root) {
  constexpr std::array<std::string_view, 3> kMarks = {"/run/reboot-required", "/var/run/reboot-required",
                                                      "/run/reboot-needed"};
  bool any_place = false;
  for (const std::string_view mark : kMarks) {
    const std::string path(mark);
    any_place = any_place || root.status(path.substr(0, path.rfind('/')));
    const auto status = root.status(path);
    if (!status) {
      if (status.error().code != ErrorCode::NotFound) {
        return Fact<RebootRequired>::unknown(status.error(), path);
      }
      continue;
    }
    RebootRequired required;
    // The list says who asked; the mark alone says enough.
    const std::string packages = root.read(path + ".pkgs").value_or("");
    std::string_view rest = packages;
    while (!rest.empty() && required.packages.size() < RebootRequired::kMaxPackages) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string package(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const bool is_plain =
          !package.empty() &&
          package.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_:~") ==
              std::string::npos;
      if (is_plain &&
          std::find(required.packages.begin(), required.packages.end(), package) == required.packages.end()) {
        required.packages.push_back(std::move(package));
      }
    }
    return Fact<RebootRequired>::known(std::move(required), path);
  }
  const std::string where(kMarks.front());
  return any_place ? Fact<RebootRequired>::absent(where)
                   : Fact<RebootRequired>::unknown({ErrorCode::NotFound, "there is no /run"}, where);
}

}  // namespace gpuskew
