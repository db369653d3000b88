#pragma once

// TLS contexts from PEM text. TLS 1.3 only unless a client asks for less, no session tickets: a resumed session would
// skip the check of a certificate that has expired, or of a CA that was replaced, since.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <openssl/types.h>

#include "core/result.h"
#include "runtime/pem_source.h"

namespace gpuskew {

/// PEM files. `certificate` may hold intermediates after the leaf; `key` must not have a passphrase.
struct TlsFiles {
  std::filesystem::path ca;
  std::filesystem::path certificate;
  std::filesystem::path key;

  bool operator==(const TlsFiles&) const = default;
};

/// For servers of others, such as a Kubernetes API server.
struct TlsClientOptions {
  PemSource ca;
  PemSource certificate;  ///< with `key` or not at all
  PemSource key;
  bool system_ca = false;    ///< an empty `ca` is the system's authorities; else it is an error
  bool verify = true;        ///< false: whoever answers is believed, and `ca` is not looked at
  bool allow_tls12 = false;  ///< without renegotiation

  bool operator==(const TlsClientOptions&) const = default;
};

/// What a context is made of, and made of again by a reload.
struct TlsMaterial : TlsClientOptions {
  bool is_server = false;
  bool clients_may_be_bare = false;  ///< of a server with a `ca`
};

/// Files -> an SSL_CTX, replaced as a whole by reload(): handshakes begun before keep the old one, and a reload that
/// fails changes nothing. Errors name the file and the reason: "certificate /etc/...: expired on ...". Making one
/// ignores SIGPIPE for the process: a peer that went away is an error, not a signal.
class TlsContext {
 public:
  /// For a listener. With a `ca`, a client certificate it signed is required (mutual TLS), and one that is itself a
  /// CA's (CA:TRUE) is refused; without, none is asked for. `clients_may_be_bare`: one without a certificate is let in,
  /// too, and it is the caller's business to find out who it is.
  static Result<TlsContext> server(TlsFiles files, bool clients_may_be_bare = false);
  /// For connecting. `ca` is required; certificate and key may both be empty: no client certificate then.
  static Result<TlsContext> client(TlsFiles files);
  static Result<TlsContext> client(TlsClientOptions options);

  TlsContext(TlsContext&&) noexcept;
  TlsContext& operator=(TlsContext&&) noexcept;
  ~TlsContext();

  /// Reads the same files again, for new handshakes.
  Result<void> reload();
  /// The same with other files; they are kept for later reloads only when they are good.
  Result<void> reload(TlsFiles files);

  /// Owned by this object until reload(); SSL_new and SSL_CTX_up_ref take their own reference.
  SSL_CTX* native() const { return context_.get(); }
  bool is_server() const { return material_.is_server; }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const noexcept;
  };
  using Handle = std::unique_ptr<SSL_CTX, Free>;
  TlsContext(TlsMaterial material, Handle context);
  static Result<Handle> make(const TlsMaterial& material);
  static Result<TlsContext> open(TlsMaterial material);
  Result<void> replace(TlsMaterial material);

  TlsMaterial material_;
  Handle context_;
};

/// What to tell the operator when a private key can be read by every user; nothing when it can not.
std::optional<std::string> key_permission_warning(const TlsFiles& files);

}  // namespace gpuskew
