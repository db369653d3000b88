#include "runtime/tls.h"

#include <sys/stat.h>

#include <csignal>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "runtime/pem.h"

namespace gpuskew {
namespace {

Result<void> use_identity(SSL_CTX* context, const TlsMaterial& material) {
  auto chain = read_certificates("certificate", material.certificate);
  if (!chain) {
    return tl::unexpected(chain.error());
  }
  auto key = read_private_key(material.key);
  if (!key) {
    return tl::unexpected(key.error());
  }
  X509* const leaf = chain->front().get();
  if (X509_check_private_key(leaf, key->get()) != 1) {
    ERR_clear_error();
    const std::string file = material.certificate.file.string();
    return tl::unexpected(
        pem_error("key", material.key, "does not match the certificate" + (file.empty() ? file : " in " + file)));
  }
  if (auto dates = check_certificate_dates(material.certificate, leaf); !dates) {
    return dates;
  }
  if (SSL_CTX_use_certificate(context, leaf) != 1 || SSL_CTX_use_PrivateKey(context, key->get()) != 1) {
    return tl::unexpected(pem_error("certificate", material.certificate, last_tls_reason()));
  }
  for (std::size_t index = 1; index < chain->size(); ++index) {
    if (SSL_CTX_add1_chain_cert(context, (*chain)[index].get()) != 1) {
      return tl::unexpected(pem_error("certificate", material.certificate, last_tls_reason()));
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

Result<void> use_ca(SSL_CTX* context, const PemSource& ca, bool is_server) {
  auto authorities = read_certificates("ca", ca);
  if (!authorities) {
    return tl::unexpected(authorities.error());
  }
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  for (const Certificate& authority : *authorities) {
    if (X509_STORE_add_cert(store, authority.get()) != 1 ||
        (is_server && SSL_CTX_add_client_CA(context, authority.get()) != 1)) {
      return tl::unexpected(pem_error("ca", ca, last_tls_reason()));
    }
  }
  return {};
}

Result<void> use_authorities(SSL_CTX* context, const TlsMaterial& material) {
  const bool by_system = material.ca.is_empty() && material.system_ca;
  if (by_system && SSL_CTX_set_default_verify_paths(context) != 1) {
    return fail(ErrorCode::Internal, "reading the system's certificate authorities: " + last_tls_reason());
  }
  if (!by_system) {
    if (auto used = use_ca(context, material.ca, material.is_server); !used) {
      return used;
    }
  }
  const bool must_show = material.is_server && !material.clients_may_be_bare;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (must_show ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                     material.is_server ? refuse_ca_as_leaf : nullptr);
  return {};
}

TlsMaterial material_of(const TlsFiles& files, bool is_server) {
  TlsMaterial material;
  material.ca.file = files.ca;
  material.certificate.file = files.certificate;
  material.key.file = files.key;
  material.is_server = is_server;
  return material;
}

}  // namespace

void TlsContext::Free::operator()(SSL_CTX* context) const noexcept {
  SSL_CTX_free(context);
}

TlsContext::TlsContext(TlsMaterial material, Handle context)
    : material_(std::move(material)), context_(std::move(context)) {}
TlsContext::TlsContext(TlsContext&&) noexcept = default;
TlsContext& TlsContext::operator=(TlsContext&&) noexcept = default;
TlsContext::~TlsContext() = default;

Result<TlsContext::Handle> TlsContext::make(const TlsMaterial& material) {
  ERR_clear_error();
  Handle context(SSL_CTX_new(material.is_server ? TLS_server_method() : TLS_client_method()));
  if (!context ||
      SSL_CTX_set_min_proto_version(context.get(), material.allow_tls12 ? TLS1_2_VERSION : TLS1_3_VERSION) != 1) {
    return fail(ErrorCode::Internal, "making a TLS context: " + last_tls_reason());
  }
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (material.is_server || !material.certificate.is_empty() || !material.key.is_empty()) {
    if (auto used = use_identity(context.get(), material); !used) {
      return tl::unexpected(used.error());
    }
  }
  if (material.is_server ? !material.ca.is_empty() : material.verify) {
    if (auto used = use_authorities(context.get(), material); !used) {
      return tl::unexpected(used.error());
    }
  }
  return context;
}

Result<TlsContext> TlsContext::open(TlsMaterial material) {
  std::signal(SIGPIPE, SIG_IGN);
  auto context = make(material);
  if (!context) {
    return tl::unexpected(context.error());
  }
  return TlsContext(std::move(material), std::move(*context));
}

Result<TlsContext> TlsContext::server(TlsFiles files, bool clients_may_be_bare) {
  TlsMaterial material = material_of(files, true);
  material.clients_may_be_bare = clients_may_be_bare;
  return open(std::move(material));
}

Result<TlsContext> TlsContext::client(TlsFiles files) {
  return open(material_of(files, false));
}

Result<TlsContext> TlsContext::client(TlsClientOptions options) {
  TlsMaterial material;
  static_cast<TlsClientOptions&>(material) = std::move(options);
  return open(std::move(material));
}

Result<void> TlsContext::reload() {
  return replace(material_);
}

Result<void> TlsContext::reload(TlsFiles files) {
  TlsMaterial material = material_of(files, material_.is_server);
  material.clients_may_be_bare = material_.clients_may_be_bare;
  return replace(std::move(material));
}

Result<void> TlsContext::replace(TlsMaterial material) {
  auto context = make(material);
  if (!context) {
    return tl::unexpected(context.error());
  }
  context_ = std::move(*context);
  material_ = std::move(material);
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
