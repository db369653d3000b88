#pragma once

// Certificates made when a test runs, so that none in the tree can expire.

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/tls.h"

namespace gpuskew {

struct CertificateSpec {
  /// The subject's CN.
  std::string common_name;
  /// SAN dNSNames; no SAN extension for none.
  std::vector<std::string> dns_names;
  /// SAN iPAddresses in text form.
  std::vector<std::string> ip_addresses;
  /// From now; negative for the past.
  std::chrono::seconds valid_from = std::chrono::hours(-1);
  std::chrono::seconds valid_until = std::chrono::hours(24);
  /// basicConstraints CA:TRUE on the leaf, as `openssl req -x509` makes it by default.
  bool is_ca = false;
};

/// A certificate authority whose files live in `directory` (which must be there): <name>.ca.pem, <leaf>.pem,
/// <leaf>.key. Aborts the test program when OpenSSL or the file system fails.
class CertificateAuthority {
 public:
  CertificateAuthority(std::filesystem::path directory, const std::string& name);
  ~CertificateAuthority();
  CertificateAuthority(const CertificateAuthority&) = delete;
  CertificateAuthority& operator=(const CertificateAuthority&) = delete;

  const std::filesystem::path& ca_file() const { return ca_file_; }

  /// Writes <file>.pem and <file>.key (mode 0600) and returns their paths with this CA's file.
  TlsFiles issue(const std::string& file, const CertificateSpec& spec) const;

 private:
  struct Keys;
  std::filesystem::path directory_;
  std::filesystem::path ca_file_;
  std::unique_ptr<Keys> keys_;
};

}  // namespace gpuskew
