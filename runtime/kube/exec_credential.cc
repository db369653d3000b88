#include <charconv>

#include <nlohmann/json.hpp>

#include "runtime/file.h"
#include "runtime/kube/base64.h"
#include "runtime/kube/exec_plugin.h"
#include "runtime/kube/json_text.h"

namespace gpuskew {
namespace {

/// RFC 3339 with a zone ("+02:00"), as some plugins write it.
Result<Time> parse_expiry(const std::string& text) {
  constexpr std::size_t kZone = 6;
  const std::size_t at = text.size() < kZone ? 0 : text.size() - kZone;
  if (text.size() <= kZone || (text[at] != '+' && text[at] != '-') || text[at + 3] != ':') {
    return parse_rfc3339(text);
  }
  unsigned hours = 0;
  unsigned minutes = 0;
  const char* const zone = text.data() + at;
  if (std::from_chars(zone + 1, zone + 3, hours).ptr != zone + 3 ||
      std::from_chars(zone + 4, zone + kZone, minutes).ptr != zone + kZone) {
    return parse_rfc3339(text);
  }
  auto local = parse_rfc3339(text.substr(0, at) + "Z");
  if (local) {
    const Duration shift = std::chrono::hours(hours) + std::chrono::minutes(minutes);
    *local += *zone == '+' ? -shift : shift;
  }
  return local;
}

Result<std::string> pem_text(const PemSource& source) {
  return source.file.empty() ? Result<std::string>(source.data) : read_file(source.file, kMaxPemBytes);
}

}  // namespace

Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version) {
  const auto parsed = parse_json(text);
  if (!parsed || text_at(*parsed, {"kind"}) != "ExecCredential") {
    return fail(ErrorCode::Malformed, "it did not print an ExecCredential");
  }
  if (const std::string version = text_at(*parsed, {"apiVersion"}); version != api_version) {
    return fail(ErrorCode::Malformed, "it printed an ExecCredential of " + in_quotes(version) +
                                          ", and the kubeconfig asks for " + in_quotes(api_version));
  }
  ExecCredential credential;
  credential.token = text_at(*parsed, {"status", "token"});
  credential.certificate.data = text_at(*parsed, {"status", "clientCertificateData"});
  credential.key.data = text_at(*parsed, {"status", "clientKeyData"});
  if (credential.certificate.is_empty() != credential.key.is_empty()) {
    return fail(ErrorCode::Malformed, "it printed a certificate without its key, or a key without its certificate");
  }
  if (credential.token.empty() && credential.key.is_empty()) {
    return fail(ErrorCode::Malformed, "its ExecCredential holds neither a token nor a certificate");
  }
  if (const std::string expires = text_at(*parsed, {"status", "expirationTimestamp"}); !expires.empty()) {
    const auto time = parse_expiry(expires);
    if (!time) {
      return fail("its ExecCredential's expirationTimestamp", time.error());
    }
    credential.expires = *time;
  }
  return credential;
}

Result<std::string> exec_info(const KubeAccess& access) {
  nlohmann::json info;
  info["apiVersion"] = access.exec->api_version;
  info["kind"] = "ExecCredential";
  info["spec"]["interactive"] = false;
  if (access.exec->provide_cluster_info) {
    nlohmann::json& cluster = info["spec"]["cluster"];
    cluster["server"] = access.server;
    if (!access.tls_server_name.empty()) {
      cluster["tls-server-name"] = access.tls_server_name;
    }
    if (access.skip_verify) {
      cluster["insecure-skip-tls-verify"] = true;
    }
    if (!access.proxy_url.empty()) {
      cluster["proxy-url"] = access.proxy_url;
    }
    const auto ca = pem_text(access.ca);
    if (!ca) {
      return fail("ca", ca.error());
    }
    if (!ca->empty()) {
      cluster["certificate-authority-data"] = base64_encode(*ca);
    }
  }
  // A path that is not UTF-8 must not end the program.
  return info.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace gpuskew
