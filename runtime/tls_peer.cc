#include "runtime/tls_peer.h"

#include <array>
#include <system_error>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "runtime/file.h"

namespace gpuskew {
namespace {

struct Reason {
  int number;  // OpenSSL's SSL_R_*
  ErrorCode code;
  std::string_view text;
};

/// The ways a handshake goes wrong in practice, in words; others keep OpenSSL's text.
constexpr std::array kReasons = {
    Reason{SSL_R_UNEXPECTED_EOF_WHILE_READING, ErrorCode::Unreachable, "the peer cut the connection"},
    Reason{SSL_R_HTTP_REQUEST, ErrorCode::Malformed, "the peer speaks plain HTTP, not TLS"},
    Reason{SSL_R_HTTPS_PROXY_REQUEST, ErrorCode::Malformed, "the peer speaks plain HTTP, not TLS"},
    Reason{SSL_R_WRONG_VERSION_NUMBER, ErrorCode::Malformed, "the peer does not speak TLS"},
    Reason{SSL_R_PACKET_LENGTH_TOO_LONG, ErrorCode::Malformed, "the peer does not speak TLS"},
    Reason{SSL_R_BAD_RECORD_TYPE, ErrorCode::Malformed, "the peer does not speak TLS"},
    Reason{SSL_R_UNSUPPORTED_PROTOCOL, ErrorCode::Unsupported, "the peer does not offer TLS 1.3"},
    Reason{SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, ErrorCode::Unsupported, "the peer refused TLS 1.3"},
    Reason{SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, ErrorCode::Denied, "the peer sent no certificate"},
    Reason{SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, ErrorCode::Denied, "the peer wants a certificate of ours"},
    Reason{SSL_R_TLSV1_ALERT_UNKNOWN_CA, ErrorCode::Denied, "the peer does not know the CA of our certificate"},
    Reason{SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, ErrorCode::Denied, "the peer says our certificate is expired"},
    Reason{SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, ErrorCode::Denied, "the peer refused our certificate"},
    Reason{SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, ErrorCode::Denied, "the peer refused our certificate"},
    Reason{SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, ErrorCode::Denied, "the peer refused our certificate"},
    Reason{SSL_R_TLSV1_ALERT_ACCESS_DENIED, ErrorCode::Denied, "the peer refused our certificate"},
};

std::string verify_text(long verified) {
  switch (verified) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "the peer's certificate is expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "the peer's certificate is not valid yet";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return "the peer's certificate is from an unknown CA";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "the peer's certificate is for another name";
    case X509_V_ERR_APPLICATION_VERIFICATION:
      return "the peer's certificate is a CA's (CA:TRUE): make it anew with basicConstraints CA:FALSE";
    default:
      return std::string("the peer's certificate is refused: ") + X509_verify_cert_error_string(verified);
  }
}

/// The reasons above are for the streams of our own programs; a client that also takes TLS 1.2 asked for no more.
Error version_error(SSL* ssl, const Reason& reason) {
  std::string text(reason.text);
  if (reason.code == ErrorCode::Unsupported && SSL_get_min_proto_version(ssl) == TLS1_2_VERSION) {
    text.replace(text.find("1.3"), std::string_view::npos, "1.2 or 1.3");
  }
  return Error{reason.code, std::move(text)};
}

Error library_error(SSL* ssl) {
  // The first entry is the cause; what follows tells where it passed through.
  const unsigned long first = ERR_peek_error();
  const char* const text = ERR_reason_error_string(first);
  const int number = ERR_GET_REASON(first);
  const bool is_ssl = ERR_GET_LIB(first) == ERR_LIB_SSL;
  ERR_clear_error();
  if (is_ssl && number == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    return Error{ErrorCode::Denied, verify_text(SSL_get_verify_result(ssl))};
  }
  for (const Reason& reason : kReasons) {
    if (is_ssl && reason.number == number) {
      return version_error(ssl, reason);
    }
  }
  return Error{ErrorCode::Malformed, std::string("TLS: ") + (text != nullptr ? text : "failed for an unknown reason")};
}

struct FreeNames {
  void operator()(GENERAL_NAMES* names) const noexcept { GENERAL_NAMES_free(names); }
};

/// ASN.1 strings may hold a NUL, by which "node-a\0.evil" would pass for "node-a".
void add_name(std::vector<std::string>& names, const ASN1_STRING* text) {
  const auto* const bytes = ASN1_STRING_get0_data(text);
  std::string name(bytes, bytes + ASN1_STRING_length(text));
  if (!name.empty() && name.find('\0') == std::string::npos) {
    names.push_back(std::move(name));
  }
}

/// The CN of the subject's most specific RDN.
void add_common_name(std::vector<std::string>& names, const X509* certificate) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  int last = -1;
  for (int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) {
    last = at;
  }
  if (last >= 0) {
    add_name(names, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last)));
  }
}

}  // namespace

Result<void> expect_server_name(SSL* ssl, const std::string& name) {
  if (name.empty()) {
    return fail(ErrorCode::Malformed, "no server name to check the certificate against");
  }
  ERR_clear_error();
  X509_VERIFY_PARAM* const check = SSL_get0_param(ssl);
  const bool is_address = X509_VERIFY_PARAM_set1_ip_asc(check, name.c_str()) == 1;
  ERR_clear_error();
  if (is_address) {
    return {};  // RFC 6066: no SNI for an address
  }
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  // What the macro SSL_set_tlsext_host_name does, without its C cast.
  const long announced =
      SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(name.c_str()));
  if (SSL_set1_host(ssl, name.c_str()) != 1 || announced != 1) {
    ERR_clear_error();
    return fail(ErrorCode::Malformed, "server name '" + name + "' can not be checked");
  }
  return {};
}

std::vector<std::string> peer_names(const SSL* ssl) {
  std::vector<std::string> names;
  const X509* const certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr) {
    return names;
  }
  constexpr int kNoSuchExtension = -1;
  int found = 0;
  const std::unique_ptr<GENERAL_NAMES, FreeNames> alternatives(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, &found, nullptr)));
  ERR_clear_error();
  // A SAN that does not parse is not the same as none: the CN does not stand in for it.
  bool has_dns_name = !alternatives && found != kNoSuchExtension;
  for (int at = 0; alternatives && at < sk_GENERAL_NAME_num(alternatives.get()); ++at) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(alternatives.get(), at);
    if (name->type == GEN_DNS) {
      has_dns_name = true;
      add_name(names, name->d.dNSName);
    }
  }
  if (!has_dns_name) {
    add_common_name(names, certificate);
  }
  return names;
}

Error tls_error(SSL* ssl, int ssl_error, int saved_errno) {
  switch (ssl_error) {
    case SSL_ERROR_ZERO_RETURN:
      return Error{ErrorCode::Unreachable, "the peer closed the connection"};
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      if (saved_errno == 0) {
        return Error{ErrorCode::Unreachable, "the peer cut the connection"};
      }
      return Error{ErrorCode::Unreachable, std::generic_category().message(saved_errno)};
    default:
      return library_error(ssl);
  }
}

}  // namespace gpuskew
