#include "runtime/kube/server_url.h"

#include <algorithm>

#include "runtime/kube/base64.h"

namespace gpuskew {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char character) { return character > ' ' && character <= '~'; });
}

/// What may be shown of a URL: a password may stand before its '@'.
std::string shown(std::string_view url) {
  const std::size_t at = url.rfind('@');
  return in_quotes(at == std::string_view::npos ? url : url.substr(at + 1));
}

std::string with_port(std::string_view authority, std::uint16_t port) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  return has_port ? std::string(authority) : std::string(authority) + ":" + std::to_string(port);
}

}  // namespace

std::string ServerUrl::host_header() const {
  const std::uint16_t usual = is_tls ? kHttpsPort : kHttpPort;
  std::string text = to_string(address);
  if (address.port == usual) {
    text.resize(text.rfind(':'));
  }
  return text;
}

std::string ServerUrl::basic_authorization() const {
  return userinfo.empty() ? "" : "Basic " + base64_encode(userinfo);
}

Result<ServerUrl> parse_server_url(std::string_view url) {
  const std::string quoted = shown(url);
  if (url.empty() || url.size() > kMaxServerUrlBytes || !is_plain(url)) {
    return fail(ErrorCode::Malformed, quoted + " is no URL of a server");
  }
  ServerUrl server;
  if (const std::size_t colon = url.find("://"); colon != std::string_view::npos) {
    const std::string_view scheme = url.substr(0, colon);
    if (scheme != "https" && scheme != "http") {
      return fail(ErrorCode::Unsupported, quoted + ": only https:// and http:// are");
    }
    server.is_tls = scheme == "https";
    url.remove_prefix(colon + 3);
  }
  const std::size_t slash = std::min(url.find('/'), url.size());
  std::string_view authority = url.substr(0, slash);
  server.path = url.substr(slash);
  if (server.path.find_first_of("?#") != std::string::npos) {
    return fail(ErrorCode::Malformed, quoted + ": a server's URL has no query");
  }
  server.path.resize(server.path.find_last_not_of('/') + 1);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    server.userinfo = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  auto address = parse_host_port(with_port(authority, server.is_tls ? kHttpsPort : kHttpPort));
  if (!address) {
    return tl::unexpected(address.error());
  }
  server.address = std::move(*address);
  return server;
}

Result<ServerUrl> parse_proxy_url(std::string_view url) {
  if (!url.starts_with("http://")) {
    const std::string_view scheme = url.substr(0, url.find("://"));
    return fail(ErrorCode::Unsupported, "proxy-url " + in_quotes(scheme) + ": only http:// proxies are supported");
  }
  auto proxy = parse_server_url(url);
  if (!proxy) {
    return fail("proxy-url", proxy.error());
  }
  return proxy;
}

}  // namespace gpuskew
