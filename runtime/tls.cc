#include "runtime/tls.h"

#include <sys/stat.h>

#include <csignal>
#include <ctime>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "core/time.h"
#include "runtime/file.h"

namespace gpuskew {
namespace {

template <auto Function>
struct FreeWith {
  template <class T>
  void operator()(T* object) const noexcept {
    Function(object);
  }
};
using Bio = std::unique_ptr<BIO, FreeWith<BIO_free>>;
using Certificate = std::unique_ptr<X509, FreeWith<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;

std::string last_reason() {
  const char* const text = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return text != nullptr ? text : "unknown reason";
}

Error file_error(std::string_view role, const std::filesystem::path& path, std::string_view problem) {
  return Error{ErrorCode::Malformed, std::string(role) + " " + path.string() + ": " + std::string(problem)};
}

Result<Bio> open_pem(std::string_view role, const std::filesystem::path& path, std::string& content) {
  if (path.empty()) {
    return fail(ErrorCode::Malformed, std::string(role) + ": no file is named");
  }
  auto read = read_file(path, kMaxPemBytes);
  if (!read) {
    return fail(role, read.error());
  }
  content = std::move(*read);
  Bio bio(BIO_new_mem_buf(content.data(), static_cast<int>(content.size())));
  if (!bio) {
    return tl::unexpected(file_error(role, path, last_reason()));
  }
  return bio;
}

/// Every certificate of a PEM file, at least one.
Result<std::vector<Certificate>> read_certificates(std::string_view role, const std::filesystem::path& path) {
  std::string content;
  auto bio = open_pem(role, path, content);
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
  const std::string reason = last_reason();
  if (!at_end) {
    return tl::unexpected(file_error(role, path, "does not parse as a PEM certificate: " + reason));
  }
  if (certificates.empty()) {
    return tl::unexpected(file_error(role, path, "holds no PEM certificate"));
  }
  return certificates;
}

/// Stands in for OpenSSL's default, which would ask on the terminal.
int no_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

Result<PrivateKey> read_key(const std::filesystem::path& path) {
  std::string content;
  auto bio = open_pem("key", path, content);
  if (!bio) {
    return tl::unexpected(bio.error());
  }
  bool asked = false;
  PrivateKey key(PEM_read_bio_PrivateKey(bio->get(), nullptr, no_passphrase, &asked));
  OPENSSL_cleanse(content.data(), content.size());
  const std::string reason = key ? "" : last_reason();
  if (asked) {
    return tl::unexpected(file_error("key", path, "is protected by a passphrase; store it without one, mode 0600"));
  }
  if (!key) {
    return tl::unexpected(file_error("key", path, "holds no PEM private key: " + reason));
  }
  return key;
}

std::string time_text(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) {
    return "an unreadable date";
  }
  return to_rfc3339(Time(std::chrono::seconds(::timegm(&parts))));
}

Result<void> check_dates(const std::filesystem::path& path, const X509* certificate) {
  const ASN1_TIME* const until = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(until) <= 0) {
    return tl::unexpected(file_error("certificate", path, "expired on " + time_text(until)));
  }
  const ASN1_TIME* const from = X509_get0_notBefore(certificate);
  if (X509_cmp_current_time(from) >= 0) {
    return tl::unexpected(file_error("certificate", path, "is not valid before " + time_text(from)));
  }
  return {};
}

Result<void> use_identity(SSL_CTX* context, const TlsFiles& files) {
  auto chain = read_certificates("certificate", files.certificate);
  if (!chain) {
    return tl::unexpected(chain.error());
  }
  auto key = read_key(files.key);
  if (!key) {
    return tl::unexpected(key.error());
  }
  X509* const leaf = chain->front().get();
  if (X509_check_private_key(leaf, key->get()) != 1) {
    ERR_clear_error();
    return tl::unexpected(
        file_error("key", files.key, "does not match the certificate in " + files.certificate.string()));
  }
  if (auto dates = check_dates(files.certificate, leaf); !dates) {
    return dates;
  }
  if (SSL_CTX_use_certificate(context, leaf) != 1 || SSL_CTX_use_PrivateKey(context, key->get()) != 1) {
    return tl::unexpected(file_error("certificate", files.certificate, last_reason()));
  }
  for (std::size_t index = 1; index < chain->size(); ++index) {
    if (SSL_CTX_add1_chain_cert(context, (*chain)[index].get()) != 1) {
      return tl::unexpected(file_error("certificate", files.certificate, last_reason()));
    }
  }
  return {};
}

/// A peer that shows a CA's certificate as its own could sign others and so speak for anybody: it is refused before
/// anyone comes to rely on it. (`openssl req -x509` makes such leaves unless it is told CA:FALSE.)
int refuse_ca_as_leaf(int verified, X509_STORE_CTX* check) {
  X509* const certificate = X509_STORE_CTX_get_current_cert(check);
  if (verified == 1 && X509_STORE_CTX_get_error_depth(check) == 0 && certificate != nullptr &&
      (X509_get_extension_flags(certificate) & EXFLAG_CA) != 0) {
    X509_STORE_CTX_set_error(check, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
  }
  return verified;
}

Result<void> use_ca(SSL_CTX* context, const TlsFiles& files, bool is_server) {
  auto authorities = read_certificates("ca", files.ca);
  if (!authorities) {
    return tl::unexpected(authorities.error());
  }
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  for (const Certificate& authority : *authorities) {
    if (X509_STORE_add_cert(store, authority.get()) != 1 ||
        (is_server && SSL_CTX_add_client_CA(context, authority.get()) != 1)) {
      return tl::unexpected(file_error("ca", files.ca, last_reason()));
    }
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (is_server ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                     is_server ? refuse_ca_as_leaf : nullptr);
  return {};
}

}  // namespace

void TlsContext::Free::operator()(SSL_CTX* context) const noexcept {
  SSL_CTX_free(context);
}

TlsContext::TlsContext(TlsFiles files, bool is_server, Handle context)
    : files_(std::move(files)), is_server_(is_server), context_(std::move(context)) {}
TlsContext::TlsContext(TlsContext&&) noexcept = default;
TlsContext& TlsContext::operator=(TlsContext&&) noexcept = default;
TlsContext::~TlsContext() = default;

Result<TlsContext::Handle> TlsContext::make(const TlsFiles& files, bool is_server) {
  ERR_clear_error();
  Handle context(SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1) {
    return fail(ErrorCode::Internal, "making a TLS context: " + last_reason());
  }
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (is_server || !files.certificate.empty() || !files.key.empty()) {
    if (auto used = use_identity(context.get(), files); !used) {
      return tl::unexpected(used.error());
    }
  }
  if (!is_server || !files.ca.empty()) {
    if (auto used = use_ca(context.get(), files, is_server); !used) {
      return tl::unexpected(used.error());
    }
  }
  return context;
}

Result<TlsContext> TlsContext::server(TlsFiles files) {
  std::signal(SIGPIPE, SIG_IGN);
  auto context = make(files, true);
  if (!context) {
    return tl::unexpected(context.error());
  }
  return TlsContext(std::move(files), true, std::move(*context));
}

Result<TlsContext> TlsContext::client(TlsFiles files) {
  std::signal(SIGPIPE, SIG_IGN);
  auto context = make(files, false);
  if (!context) {
    return tl::unexpected(context.error());
  }
  return TlsContext(std::move(files), false, std::move(*context));
}

Result<void> TlsContext::reload() {
  return reload(files_);
}

Result<void> TlsContext::reload(TlsFiles files) {
  auto context = make(files, is_server_);
  if (!context) {
    return tl::unexpected(context.error());
  }
  context_ = std::move(*context);
  files_ = std::move(files);
  return {};
}

std::optional<std::string> key_permission_warning(const TlsFiles& files) {
  struct stat status {};
  if (files.key.empty() || ::stat(files.key.c_str(), &status) != 0 || (status.st_mode & S_IROTH) == 0) {
    return std::nullopt;
  }
  return "key " + files.key.string() + " can be read by every user of this machine; chmod 0600 it";
}

}  // namespace gpuskew
