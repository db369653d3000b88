#pragma once

// A kubeconfig's exec plugin: a program that logs in somewhere and prints a credential. For the command line only; the
// daemons do not link this.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/time.h"
#include "runtime/kube/access.h"

namespace gpuskew {

/// A plugin that takes longer is killed with what it started.
inline constexpr Duration kExecPluginTimeout = std::chrono::seconds(30);
/// A plugin that prints more is killed.
inline constexpr std::size_t kMaxExecCredentialBytes = std::size_t{256} << 10;
/// Of what it says on standard error, the end is kept for the error.
inline constexpr std::size_t kMaxExecComplaintBytes = 300;

/// An ExecCredential of `api_version`. Malformed; errors show nothing of the text, which is secret.
Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version);

/// KUBERNETES_EXEC_INFO for access.exec: JSON, with the cluster in it when the plugin wants it. Errors name a file.
Result<std::string> exec_info(const KubeAccess& access);

/// Runs access.exec without a shell, in our environment with the plugin's added, without a terminal: it can not ask
/// for anything. Errors: NotFound with the hint how to install it, Timeout, TooLarge, Denied (it failed: its exit code
/// and the end of its complaint), Malformed, Unsupported (it insists on a terminal).
Result<ExecCredential> run_exec_plugin(const KubeAccess& access, Duration timeout = kExecPluginTimeout);

}  // namespace gpuskew
