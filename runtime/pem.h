#pragma once

// PEM text, from memory or from a file, as OpenSSL's objects.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "core/result.h"
#include "runtime/pem_source.h"

namespace gpuskew {

template <auto Function>
struct FreeWith {
  template <class T>
  void operator()(T* object) const noexcept {
    Function(object);
  }
};
using Certificate = std::unique_ptr<X509, FreeWith<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;

/// The reason on top of OpenSSL's error queue, which is cleared.
std::string last_tls_reason();

/// "ca /etc/x.pem: problem", or "ca: problem" for text from memory.
Error pem_error(std::string_view role, const PemSource& source, std::string_view problem);

/// Every certificate of the text, at least one.
Result<std::vector<Certificate>> read_certificates(std::string_view role, const PemSource& source);

/// A private key without a passphrase; nobody is asked for one.
Result<PrivateKey> read_private_key(const PemSource& source);

/// An error unless the certificate is valid now.
Result<void> check_certificate_dates(const PemSource& source, const X509* certificate);

}  // namespace gpuskew
