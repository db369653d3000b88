#pragma once

// Which API server, and as whom: from kubeconfig files or from a pod's service account. Everything is read and checked
// before anything is asked, so that a wrong path is told as that.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "runtime/pem_source.h"
#include "runtime/token_file.h"

namespace gpuskew {

/// A kubeconfig file longer than this is refused (TooLarge).
inline constexpr std::size_t kMaxKubeconfigBytes = std::size_t{4} << 20;

/// A program that prints an ExecCredential (client.authentication.k8s.io/v1 or v1beta1). Only of the command line.
struct ExecPlugin {
  std::string command;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string api_version;
  std::string install_hint;
  bool provide_cluster_info = false;
  bool needs_terminal = false;  ///< interactiveMode Always

  bool operator==(const ExecPlugin&) const = default;
};

/// What an exec plugin printed.
struct ExecCredential {
  std::string token;
  PemSource certificate;  ///< text; with `key` or not at all
  PemSource key;
  std::optional<Time> expires;
};

struct KubeAccess {
  std::string server;        ///< "https://10.0.0.1:6443", perhaps with a path; http:// is allowed (kubectl proxy)
  std::string source;        ///< for messages: "/home/ops/.kube/config, context prod" or "this pod's service account"
  PemSource ca;              ///< empty: the system's
  bool skip_verify = false;  ///< insecure-skip-tls-verify
  std::string tls_server_name;  ///< "" is the server's host
  std::string proxy_url;        ///< http:// proxies (CONNECT); "" for none
  std::string name_space;       ///< the context's, the account's, or "default"

  PemSource certificate;  ///< of this client; with `key` or not at all
  PemSource key;
  std::string token;
  std::filesystem::path token_file;  ///< wins over `token`; read again as it rotates
  std::string username;              ///< HTTP basic, for the servers that still take it
  std::string password;
  std::optional<ExecPlugin> exec;

  std::string impersonate_user;  ///< "as" of a kubeconfig; "" for nobody
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
};

/// Runs access.exec; blocks. Only the command line has one (runtime/kube/exec_plugin.h): a daemon starts no programs.
using ExecRunner = std::function<Result<ExecCredential>(const KubeAccess& access)>;

/// The files of a KUBECONFIG value ("a:b", empty parts left out), or ~/.kube/config when it is empty.
std::vector<std::filesystem::path> kubeconfig_files(std::string_view kubeconfig, std::string_view home);

/// Merges `files` by kubectl's rule (the first file that sets a name or current-context wins; one that is not there is
/// passed over, unless it is the only one) and takes `context`, or the current one when it is empty. Relative paths
/// are relative to their file. Errors are one line each that names the file and the key:
/// NotFound, Denied, Malformed, TooLarge, Unsupported (an auth provider kubectl itself has dropped).
Result<KubeAccess> kubeconfig_access(const std::vector<std::filesystem::path>& files, std::string_view context = {});

/// Where a pod finds its account (Kubernetes' service account admission).
inline constexpr std::string_view kServiceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";

/// From KUBERNETES_SERVICE_{HOST,PORT}, as `environment` has them, and `directory`. NotFound outside a pod.
Result<KubeAccess> in_cluster_access(const std::function<std::optional<std::string>(std::string_view)>& environment,
                                     const std::filesystem::path& directory = kServiceAccountDirectory);

}  // namespace gpuskew
