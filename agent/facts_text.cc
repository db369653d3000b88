#include "agent/facts_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/printable.h"

namespace gpuskew {
namespace {

struct Line {
  std::string name;
  std::string value;
  std::string source;
};

std::string hex(unsigned value, int width) {
  std::array<char, 16> digits{};
  const int length = std::snprintf(digits.data(), digits.size(), "%0*x", width, value);
  return {digits.data(), static_cast<std::size_t>(length)};
}

template <class T>
Line line(std::string name, const Fact<T>& fact, const std::function<std::string(const T&)>& text) {
  std::string value = "none";
  if (fact.is_known()) {
    value = text(*fact);
  } else if (fact.is_unknown()) {
    value = "unknown, because " + fact.why().what;
  }
  return {std::move(name), std::move(value), fact.source()};
}

Line line(std::string name, const Fact<std::string>& fact) {
  return line<std::string>(std::move(name), fact, [](const std::string& value) { return value; });
}

std::string os_text(const OsIdentity& os) {
  const std::string name = os.version_id ? os.id + " " + *os.version_id : os.id + ", no VERSION_ID";
  return os.pretty_name.empty() ? name : name + " (" + os.pretty_name + ")";
}

void add_module_file(const Fact<ModuleFile>& fact, std::vector<Line>& lines) {
  lines.push_back(line<ModuleFile>("module file", fact, [](const ModuleFile& file) { return file.path; }));
  if (fact.is_known()) {
    lines.push_back(line<DriverVersion>("  its version", fact->version, &DriverVersion::text));
  }
}

void add_libraries(const Fact<std::vector<Library>>& fact, std::vector<Line>& lines) {
  if (!fact.is_known()) {
    lines.push_back(line<std::vector<Library>>("libraries", fact, [](const auto&) { return std::string(); }));
    return;
  }
  for (const Library& library : *fact) {
    const char* where = library.root == DriverRoot::Container ? ", in the driver container" : "";
    lines.push_back({library.name, library.version.text() + where, library.path});
  }
}

void add_gpus(const Fact<std::vector<Gpu>>& fact, std::vector<Line>& lines) {
  lines.push_back(line<std::vector<Gpu>>(
      "GPUs", fact, [](const auto& gpus) { return gpus.empty() ? std::string("none") : std::to_string(gpus.size()); }));
  if (!fact.is_known()) {
    return;
  }
  for (const Gpu& gpu : *fact) {
    Line bound = line("  " + gpu.address, gpu.driver);
    bound.value = "10de:" + hex(gpu.device_id, 4) + ", driver " + bound.value;
    lines.push_back(std::move(bound));
  }
}

std::vector<Line> lines_of(const Snapshot& snapshot) {
  std::vector<Line> lines;
  lines.push_back({"node", snapshot.node, ""});
  lines.push_back(line<KernelRelease>("kernel", snapshot.kernel, &KernelRelease::text));
  lines.push_back(line("architecture", snapshot.architecture));
  lines.push_back(line("boot id", snapshot.boot_id));
  lines.push_back(line<Time>("boot time", snapshot.boot_time, &to_rfc3339));
  lines.push_back(line<OsIdentity>("OS", snapshot.os, &os_text));
  lines.push_back(line<DriverVersion>("loaded driver", snapshot.loaded_driver, &DriverVersion::text));
  lines.push_back(line<ModuleFlavour>("flavour", snapshot.loaded_flavour,
                                      [](ModuleFlavour flavour) { return std::string(to_string(flavour)); }));
  lines.push_back(line("L4T release", snapshot.l4t_release));
  add_module_file(snapshot.module_file, lines);
  add_libraries(snapshot.libraries, lines);
  lines.push_back(line<DriverContainer>("driver container", snapshot.driver_container, [](const auto& container) {
    return container.root + (container.mounted ? ", mounted" : ", not mounted yet: at work");
  }));
  add_gpus(snapshot.gpus, lines);
  return lines;
}

}  // namespace

std::string facts_text(const Snapshot& snapshot) {
  const std::vector<Line> lines = lines_of(snapshot);
  std::size_t width = 0;
  for (const Line& each : lines) {
    width = std::max(width, each.name.size());
  }
  std::string text;
  for (const Line& each : lines) {
    text += printable(each.name) + std::string(width + 2 - each.name.size(), ' ') + printable(each.value);
    text += each.source.empty() ? "\n" : "  (from " + printable(each.source) + ")\n";
  }
  return text;
}

}  // namespace gpuskew
