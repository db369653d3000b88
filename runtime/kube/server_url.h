#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "runtime/resolve.h"

namespace gpuskew {

/// Longer ones are refused.
inline constexpr std::size_t kMaxServerUrlBytes = 2048;

/// "https://10.0.0.1:6443/k8s/clusters/c-1".
struct ServerUrl {
  bool is_tls = true;
  HostPort address;
  std::string path;      ///< in front of every request's, without a '/' at its end
  std::string userinfo;  ///< "name:password" of a proxy's URL

  /// As a Host header says it.
  std::string host_header() const;
  /// "Basic ..." of the userinfo, or "".
  std::string basic_authorization() const;
};

/// Malformed or Unsupported (another scheme), with the URL but never what stands before an '@' in it. A server without
/// a scheme is https, as for kubectl.
Result<ServerUrl> parse_server_url(std::string_view url);

/// An http:// proxy. Unsupported for others.
Result<ServerUrl> parse_proxy_url(std::string_view url);

}  // namespace gpuskew
