#include "agent/probes/runtime_processes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace gpuskew {
namespace {

constexpr const char* kProc = "/proc/";
constexpr std::size_t kMaxArguments = 32u << 10;
// RKE2 and k3s name themselves "rke2", "rke2-server", "k3s-agent"; kubelite is microk8s'.
constexpr std::array<std::string_view, 6> kCommands = {"containerd", "crio",     "kubelet",
                                                       "k0s",        "kubelite", "cri-dockerd"};
constexpr std::array<std::string_view, 2> kFamilies = {"k3s", "rke2"};

bool matters(std::string_view command) {
  return std::find(kCommands.begin(), kCommands.end(), command) != kCommands.end() ||
         std::any_of(kFamilies.begin(), kFamilies.end(), [command](std::string_view family) {
           return command == family ||
                  (command.starts_with(family) && command.size() > family.size() && command[family.size()] == '-');
         });
}

std::optional<std::uint32_t> pid_of(std::string_view name) {
  std::uint32_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(pid) : std::nullopt;
}

std::string file_of(std::uint32_t pid, const char* file) {
  return kProc + std::to_string(pid) + "/" + file;
}

// Field 22, counted behind the command's closing bracket: a command may hold anything.
std::optional<std::uint64_t> start_ticks(const HostRoot& root, std::uint32_t pid) {
  const auto stat = root.read_kernel_line(file_of(pid, "stat"));
  if (!stat) {
    return std::nullopt;
  }
  constexpr int kFieldsBetween = 20;
  std::size_t at = stat->rfind(')');
  for (int field = 0; field < kFieldsBetween && at != std::string::npos; ++field) {
    at = stat->find(' ', at + 1);
  }
  if (at == std::string::npos) {
    return std::nullopt;
  }
  std::uint64_t ticks = 0;
  const auto [end, error] = std::from_chars(stat->data() + at + 1, stat->data() + stat->size(), ticks);
  return error == std::errc() ? std::optional(ticks) : std::nullopt;
}

// A second number in this line: it lives in a process namespace of its own, in a container (kind, Docker in Docker).
bool is_in_container(const HostRoot& root, std::uint32_t pid) {
  const auto status = root.read(file_of(pid, "status"));
  const std::size_t at = status ? status->find("\nNSpid:\t") : std::string::npos;
  if (at == std::string::npos) {
    return false;
  }
  const std::size_t begin = at + std::string_view("\nNSpid:\t").size();
  return status->substr(begin, status->find('\n', begin) - begin).find('\t') != std::string::npos;
}

std::optional<RuntimeProcess> read_process(const HostRoot& root, std::uint32_t pid, std::string command) {
  const auto ticks = start_ticks(root, pid);
  const auto text = root.read(file_of(pid, "cmdline"), kMaxArguments);
  if (!ticks || !text) {
    return std::nullopt;
  }
  RuntimeProcess process{pid, *ticks, std::move(command), {}};
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    process.arguments.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return process;
}

}  // namespace

std::optional<std::string> RuntimeProcess::option(std::initializer_list<std::string_view> names) const {
  std::optional<std::string> value;
  for (std::size_t at = 1; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    for (const std::string_view name : names) {
      if (argument == name && at + 1 < arguments.size()) {
        value = arguments[at + 1];
      } else if (argument.size() > name.size() && argument.starts_with(name) && argument[name.size()] == '=') {
        value = argument.substr(name.size() + 1);
      }
    }
  }
  return value;
}

bool RuntimeProcesses::still_runs(const HostRoot& root, const RuntimeProcess& process) const {
  // Its name too: between its birth and its program a process has its parent's.
  const auto command = root.read_kernel_line(file_of(process.pid, "comm"));
  return command && *command == process.command && start_ticks(root, process.pid) == process.start_ticks;
}

Result<void> RuntimeProcesses::scan(const HostRoot& root) {
  // What was here before the first look has its final name, but for a chance that the next look at all makes good.
  const bool all = looked_twice_.empty();
  const auto entries = root.list(kProc);
  if (!entries) {
    return tl::unexpected(entries.error());
  }
  std::vector<std::uint32_t> once;
  std::vector<std::uint32_t> twice;
  for (const DirectoryEntry& entry : *entries) {
    const auto pid = pid_of(entry.name);
    if (!pid) {
      continue;
    }
    const bool was_twice = std::binary_search(looked_twice_.begin(), looked_twice_.end(), *pid);
    const bool was_once = std::binary_search(looked_once_.begin(), looked_once_.end(), *pid);
    (was_twice || was_once || all ? twice : once).push_back(*pid);
    if (was_twice) {
      continue;
    }
    const bool known = std::any_of(found_.begin(), found_.end(), [&](const auto& each) { return each.pid == *pid; });
    const auto command = known ? Result<std::string>("") : root.read_kernel_line(file_of(*pid, "comm"));
    if (known || !command || !matters(*command) || found_.size() == kMaxFound || is_in_container(root, *pid)) {
      continue;
    }
    if (auto process = read_process(root, *pid, *command)) {
      found_.push_back(std::move(*process));
    }
  }
  std::sort(once.begin(), once.end());
  std::sort(twice.begin(), twice.end());
  looked_once_ = std::move(once);
  looked_twice_ = std::move(twice);
  return {};
}

Result<std::vector<RuntimeProcess>> RuntimeProcesses::look(const HostRoot& root) {
  if (++looks_ > kLooksBeforeAll) {
    looks_ = 0;
    looked_once_.clear();
    looked_twice_.clear();
  }
  std::erase_if(found_, [&](const RuntimeProcess& process) { return !still_runs(root, process); });
  if (auto scanned = scan(root); !scanned) {
    return tl::unexpected(scanned.error());
  }
  std::sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return found_;
}

}  // namespace gpuskew
