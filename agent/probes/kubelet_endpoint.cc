// The half of runtime_daemon.h that asks the kubelet's own settings.

#include <algorithm>
#include <array>
#include <string_view>

#include "agent/probes/runtime_daemon.h"

namespace gpuskew {
namespace {

constexpr const char* kKubeletConfig = "/var/lib/kubelet/config.yaml";
constexpr const char* kKubeadmFlags = "/var/lib/kubelet/kubeadm-flags.env";
constexpr std::size_t kMaxKubeletConfig = 256u << 10;
constexpr std::string_view kFlag = "--container-runtime-endpoint";
constexpr std::string_view kKey = "containerRuntimeEndpoint";

std::string plain_socket(std::string_view endpoint) {
  constexpr std::string_view kScheme = "unix://";
  if (endpoint.starts_with(kScheme)) {
    endpoint.remove_prefix(kScheme.size());
  }
  std::string path(endpoint);
  return path.starts_with("/var/run/") ? path.substr(std::string_view("/var").size()) : path;
}

// The word behind `key` and what separates them, in YAML, JSON or a line of flags.
std::optional<std::string> word_behind(std::string_view text, std::string_view key) {
  constexpr std::string_view kBetween = "\"': =\t";
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t begin = text.find_first_not_of(kBetween, at + key.size());
  if (begin == std::string_view::npos) {
    return std::nullopt;
  }
  std::string word(text.substr(begin, text.find_first_of("\"', \t\r\n}", begin) - begin));
  return word.empty() ? std::nullopt : std::optional(std::move(word));
}

// nullopt: the file is not there, or does not say.
Result<std::optional<std::string>> word_in_file(const HostRoot& root, const std::string& path, std::string_view key,
                                                SeenFiles& seen) {
  const auto text = seen.read(root, path, kMaxKubeletConfig);
  if (text) {
    return word_behind(*text, key);
  }
  if (text.error().code == ErrorCode::NotFound) {
    return std::nullopt;
  }
  return tl::unexpected(text.error());
}

}  // namespace

Result<std::optional<std::string>> kubelet_endpoint(const HostRoot& root, const std::vector<RuntimeProcess>& processes,
                                                    SeenFiles& seen) {
  const auto kubelet = std::find_if(processes.begin(), processes.end(),
                                    [](const RuntimeProcess& process) { return process.command == "kubelet"; });
  std::string config = kKubeletConfig;
  if (kubelet != processes.end()) {
    if (const auto flag = kubelet->option({kFlag})) {
      return std::optional(plain_socket(*flag));
    }
    config = kubelet->option({"--config"}).value_or(config);
  }
  // kubeadm's flags are on the command line of a kubelet that runs.
  const std::array<std::pair<std::string, std::string_view>, 2> files{{{kKubeadmFlags, kFlag}, {config, kKey}}};
  for (const auto& [file, key] : files) {
    if (file == kKubeadmFlags && kubelet != processes.end()) {
      continue;
    }
    const auto word = word_in_file(root, file, key, seen);
    if (!word) {
      return tl::unexpected(word.error());
    }
    if (*word) {
      return std::optional(plain_socket(**word));
    }
  }
  return std::nullopt;
}

}  // namespace gpuskew
