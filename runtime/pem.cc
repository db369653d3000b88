#include "runtime/pem.h"

#include <ctime>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "core/time.h"
#include "runtime/file.h"

namespace gpuskew {
namespace {

using Bio = std::unique_ptr<BIO, FreeWith<BIO_free>>;

Result<Bio> open_pem(std::string_view role, const PemSource& source, std::string& content) {
  if (source.is_empty()) {
    return fail(ErrorCode::Malformed, std::string(role) + ": no file is named");
  }
  if (source.data.size() > kMaxPemBytes) {
    return fail(ErrorCode::TooLarge, std::string(role) + ": longer than " + std::to_string(kMaxPemBytes) + " bytes");
  }
  content = source.data;
  if (content.empty()) {
    auto read = read_file(source.file, kMaxPemBytes);
    if (!read) {
      return fail(role, read.error());
    }
    content = std::move(*read);
  }
  ERR_clear_error();
  Bio bio(BIO_new_mem_buf(content.data(), static_cast<int>(content.size())));
  if (!bio) {
    return tl::unexpected(pem_error(role, source, last_tls_reason()));
  }
  return bio;
}

/// Stands in for OpenSSL's default, which would ask on the terminal.
int no_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

std::string time_text(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) {
    return "an unreadable date";
  }
  return to_rfc3339(Time(std::chrono::seconds(::timegm(&parts))));
}

}  // namespace

std::string last_tls_reason() {
  const char* const text = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return text != nullptr ? text : "unknown reason";
}

Error pem_error(std::string_view role, const PemSource& source, std::string_view problem) {
  const std::string place = source.file.empty() ? "" : " " + source.file.string();
  return Error{ErrorCode::Malformed, std::string(role) + place + ": " + std::string(problem)};
}

Result<std::vector<Certificate>> read_certificates(std::string_view role, const PemSource& source) {
  std::string content;
  auto bio = open_pem(role, source, content);
  if (!bio) {
    return tl::unexpected(bio.error());
  }
  std::vector<Certificate> certificates;
  for (;;) {
    Certificate next(PEM_read_bio_X509(bio->get(), nullptr, nullptr, nullptr));
    if (!next) {
      break;
    }
    certificates.push_back(std::move(next));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = last_tls_reason();
  if (!at_end) {
    return tl::unexpected(pem_error(role, source, "does not parse as a PEM certificate: " + reason));
  }
  if (certificates.empty()) {
    return tl::unexpected(pem_error(role, source, "holds no PEM certificate"));
  }
  return certificates;
}

Result<PrivateKey> read_private_key(const PemSource& source) {
  std::string content;
  auto bio = open_pem("key", source, content);
  if (!bio) {
    return tl::unexpected(bio.error());
  }
  bool asked = false;
  PrivateKey key(PEM_read_bio_PrivateKey(bio->get(), nullptr, no_passphrase, &asked));
  OPENSSL_cleanse(content.data(), content.size());
  const std::string reason = key ? "" : last_tls_reason();
  if (asked) {
    return tl::unexpected(pem_error("key", source, "is protected by a passphrase; store it without one, mode 0600"));
  }
  if (!key) {
    return tl::unexpected(pem_error("key", source, "holds no PEM private key: " + reason));
  }
  return key;
}

Result<void> check_certificate_dates(const PemSource& source, const X509* certificate) {
  const ASN1_TIME* const until = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(until) <= 0) {
    return tl::unexpected(pem_error("certificate", source, "expired on " + time_text(until)));
  }
  const ASN1_TIME* const from = X509_get0_notBefore(certificate);
  if (X509_cmp_current_time(from) >= 0) {
    return tl::unexpected(pem_error("certificate", source, "is not valid before " + time_text(from)));
  }
  return {};
}

}  // namespace gpuskew
