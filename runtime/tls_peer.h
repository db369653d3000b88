#pragma once

// Who is at the other end of a TLS connection, and why it failed.

#include <string>
#include <vector>

#include <openssl/types.h>

#include "core/result.h"

namespace gpuskew {

/// For SNI and the check of the server's certificate (a DNS name, or an IP address in text form) before a client
/// handshake.
Result<void> expect_server_name(SSL* ssl, const std::string& name);

/// Who the peer's verified certificate says it is: every SAN dNSName, else (no SAN dNSName at all) the subject's CN.
/// Empty without a certificate. Names with a NUL in them are left out. Compare ASCII case-insensitively.
std::vector<std::string> peer_names(const SSL* ssl);

/// Why a TLS call failed, from OpenSSL's error queue (cleared) and the certificate check: "the peer does not speak
/// TLS", "the peer sent no certificate", "the peer's certificate is expired". `ssl_error` is SSL_get_error()'s.
Error tls_error(SSL* ssl, int ssl_error, int saved_errno);

}  // namespace gpuskew
