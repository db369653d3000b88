#include "agent/probes/container_runtime.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "agent/probes/containerd_files.h"
#include "agent/probes/containerd_merge.h"
#include "agent/probes/crio_config.h"
#include "agent/probes/runtime_daemon.h"
#include "agent/probes/runtime_version.h"

namespace gpuskew {
namespace {

constexpr const char* kProcesses = "/proc/";
constexpr const char* kContainerdHome = "/etc/containerd";
constexpr const char* kCrioDropIns = "/etc/crio/crio.conf.d";
constexpr std::array kToolkits = {"/usr/bin/nvidia-container-runtime",
                                  "/usr/local/nvidia/toolkit/nvidia-container-runtime",
                                  "/usr/local/bin/nvidia-container-runtime"};
// The kernel's boot time moves by a second as it is rounded, and by more only when the clock is set.
constexpr Duration kBootTimeJitter = std::chrono::seconds(2);

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

Fact<Time> start_of(const RuntimeDaemon& daemon, const Fact<Time>& boot_time, const std::optional<Error>& unlisted) {
  if (!daemon.process) {
    return unlisted ? Fact<Time>::unknown(*unlisted, kProcesses) : Fact<Time>::absent(kProcesses);
  }
  const std::string source = kProcesses + std::to_string(daemon.process->pid) + "/stat";
  if (!boot_time.is_known()) {
    const Error why = boot_time.is_unknown() ? boot_time.why() : Error{ErrorCode::NotFound, "no boot time"};
    return Fact<Time>::unknown(why, source);
  }
  const auto since_boot = std::chrono::milliseconds(static_cast<std::int64_t>(daemon.process->start_ticks) *
                                                    (std::chrono::milliseconds::period::den / kTicksPerSecond));
  return Fact<Time>::known(*boot_time + since_boot, source);
}

// The files of one way of merging, and what they mean then.
struct Outcome {
  std::vector<ContainerdFile> files;
  ContainerdMerge merge;
};

Result<Outcome> outcome_of(const HostRoot& root, const RuntimeDaemon& daemon, ContainerdRules rules, SeenFiles& seen) {
  Outcome outcome;
  auto files = read_containerd_files(root, daemon.config, rules, seen);
  if (!files && (files.error().code != ErrorCode::NotFound || daemon.config_required)) {
    return tl::unexpected(files.error());
  }
  outcome.files = files ? std::move(*files) : std::vector<ContainerdFile>();
  auto merge = merge_containerd(outcome.files, rules);
  if (!merge) {
    return tl::unexpected(merge.error());
  }
  outcome.merge = std::move(*merge);
  return outcome;
}

// By every way of merging this daemon may follow. Those that refuse the files are not the running daemon's.
Result<Outcome> agreed_outcome(const HostRoot& root, const RuntimeDaemon& daemon, const DaemonVersion& version,
                               SeenFiles& seen) {
  std::optional<Outcome> agreed;
  std::optional<Error> first_error;
  for (const ContainerdRules rules : possible_rules(version.containerd)) {
    auto outcome = outcome_of(root, daemon, rules, seen);
    if (!outcome) {
      first_error = first_error ? first_error : outcome.error();
    } else if (agreed && !agreed->merge.agrees_with(outcome->merge)) {
      return fail(ErrorCode::Unsupported,
                  "containerd's versions merge " + daemon.config +
                      " and its imports to different ends, and its own is " +
                      (version.text.is_unknown() ? "unknown: " + version.text.why().what : std::string("not known")));
    } else if (!agreed) {
      agreed = std::move(*outcome);
    }
  }
  if (!agreed) {
    return tl::unexpected(*first_error);
  }
  return std::move(*agreed);
}

void note_newest(const std::vector<ContainerdFile>& files, const SeenFiles& seen, ContainerRuntime& runtime) {
  for (const ContainerdFile& file : files) {
    const auto status = seen.known(file.path);
    if (!status || !mentions_nvidia(file)) {
      continue;
    }
    const Time changed{std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(status->modified_ns))};
    if (runtime.newest_file.empty() || changed > runtime.newest_change) {
      runtime.newest_file = file.path;
      runtime.newest_change = changed;
    }
  }
}

// Files with a handler of NVIDIA's in the places where drop-ins are put, also in those of a containerd that the kubelet
// does not use, which are not among `files`.
Result<void> note_unimported(const HostRoot& root, const std::vector<ContainerdFile>& files, SeenFiles& seen,
                             ContainerRuntime& runtime) {
  const std::string home = parent_of(runtime.config);
  std::vector<std::string> patterns{home + "/*.d/*.toml"};
  if (home != kContainerdHome) {
    patterns.push_back(std::string(kContainerdHome) + "/config.toml");
    patterns.push_back(std::string(kContainerdHome) + "/*.d/*.toml");
  }
  for (const std::string& pattern : patterns) {
    const auto paths = matching_paths(root, pattern, seen);
    if (!paths) {
      return tl::unexpected(paths.error());
    }
    for (const std::string& path : *paths) {
      const bool merged =
          std::any_of(files.begin(), files.end(), [&path](const auto& file) { return file.path == path; });
      if (merged || runtime.unimported.size() == ContainerRuntime::kMaxItems) {
        continue;
      }
      // One that is no TOML defines nothing.
      const auto file = read_containerd_file(root, path, seen);
      if (!file && file.error().code == ErrorCode::Denied) {
        return tl::unexpected(file.error());
      }
      if (file && defines_nvidia_handler(*file)) {
        runtime.unimported.push_back(path);
      }
    }
  }
  return {};
}

bool cdi_enabled(const ContainerdMerge& merge, const ContainerdVersion& version, std::uint32_t config_version) {
  constexpr std::uint32_t kFirstMinorWithCdi = 7;
  constexpr std::uint32_t kFirstMinorAlwaysWithCdi = 4;
  const bool is_2 = version.major == 2 || (version.major == 0 && config_version > 2);
  if (version.major == 1 && !version.text.empty() && version.minor < kFirstMinorWithCdi) {
    return false;
  }
  if (is_2 && !version.text.empty() && version.minor >= kFirstMinorAlwaysWithCdi) {
    return true;
  }
  return merge.enable_cdi.value_or(is_2);
}

Result<void> read_containerd(const HostRoot& root, const RuntimeDaemon& daemon, const DaemonVersion& version,
                             SeenFiles& seen, ContainerRuntime& runtime) {
  auto outcome = agreed_outcome(root, daemon, version, seen);
  if (!outcome) {
    return tl::unexpected(outcome.error());
  }
  if (!outcome->files.empty()) {
    runtime.config_version = std::max(outcome->files.front().version, 1U);
  }
  runtime.handlers = std::move(outcome->merge.handlers);
  runtime.default_runtime = std::move(outcome->merge.default_runtime);
  runtime.conflicts = std::move(outcome->merge.conflicts);
  runtime.cdi_enabled = cdi_enabled(outcome->merge, version.containerd, runtime.config_version);
  note_newest(outcome->files, seen, runtime);
  return note_unimported(root, outcome->files, seen, runtime);
}

Fact<ContainerRuntime> read_runtime(const HostRoot& root, const Result<std::vector<RuntimeProcess>>& processes,
                                    const Fact<Time>& boot_time, SeenFiles& seen) {
  const auto daemon = find_runtime_daemon(root, processes.value_or(std::vector<RuntimeProcess>()), seen);
  if (!daemon) {
    const bool none = daemon.error().code == ErrorCode::NotFound;
    return none && !processes ? Fact<ContainerRuntime>::unknown(processes.error(), kProcesses)
                              : Fact<ContainerRuntime>::from(tl::unexpected(daemon.error()), kProcesses);
  }
  ContainerRuntime runtime;
  runtime.kind = daemon->kind;
  runtime.flavour = daemon->flavour;
  runtime.config = daemon->config;
  const DaemonVersion version = read_daemon_version(root, *daemon, seen);
  runtime.version = version.text;
  runtime.started_at = start_of(*daemon, boot_time, processes ? std::nullopt : std::optional(processes.error()));
  for (const char* toolkit : kToolkits) {
    if (runtime.toolkit.empty() && seen.status(root, toolkit)) {
      runtime.toolkit = toolkit;
    }
  }
  const auto drop_ins = daemon->process ? daemon->process->option({"--config-dir", "-d"}) : std::nullopt;
  const auto read = daemon->kind == RuntimeKind::Crio
                        ? read_crio_config(root, daemon->config, drop_ins.value_or(kCrioDropIns), seen, runtime)
                        : read_containerd(root, *daemon, version, seen, runtime);
  if (!read) {
    return Fact<ContainerRuntime>::unknown(read.error(), daemon->config);
  }
  return Fact<ContainerRuntime>::known(std::move(runtime), daemon->config);
}

}  // namespace

Fact<ContainerRuntime> ContainerRuntimeCache::read(const HostRoot& root, const Fact<Time>& boot_time) {
  auto processes = processes_.look(root);
  const Time boot = boot_time.is_known() ? *boot_time : Time{};
  const bool same = processes && last_processes_ && *processes == *last_processes_ &&
                    std::chrono::abs(boot - last_boot_) <= kBootTimeJitter && seen_.same(root);
  if (same) {
    return fact_;
  }
  seen_ = SeenFiles();
  fact_ = read_runtime(root, processes, boot_time, seen_);
  last_boot_ = boot;
  last_processes_ = processes ? std::optional(std::move(*processes)) : std::nullopt;
  return fact_;
}

Fact<ContainerRuntime> read_container_runtime(const HostRoot& root, const Fact<Time>& boot_time,
                                              ContainerRuntimeCache* cache) {
  ContainerRuntimeCache once;
  return (cache == nullptr ? once : *cache).read(root, boot_time);
}

}  // namespace gpuskew
