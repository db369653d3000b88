#pragma once

// An agent's end of the stream as a blocking client, to say what a real agent never would.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/types.h>

#include "gpuskew/v1/agent.pb.h"
#include "runtime/frame.h"
#include "runtime/tls.h"

namespace gpuskew {

class TlsAgent {
 public:
  /// Connects to 127.0.0.1 and shakes hands. An empty `certificate` shows none.
  TlsAgent(std::uint16_t port, const TlsFiles& files, int tls_version);
  TlsAgent(std::uint16_t port, const TlsFiles& files);
  ~TlsAgent();
  TlsAgent(const TlsAgent&) = delete;
  TlsAgent& operator=(const TlsAgent&) = delete;

  /// In TLS 1.3 the server may still refuse our certificate after this.
  bool has_shaken_hands() const { return shaken_; }
  void send_bytes(std::string_view bytes);
  void send(std::string_view payload);
  /// The next message; nothing when the server closed, or said nothing for ten seconds.
  std::optional<v1::AggregatorMessage> receive();

 private:
  struct Free {
    void operator()(SSL_CTX* context) const;
    void operator()(SSL* ssl) const;
  };
  int fd_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
  bool shaken_ = false;
  FrameReader frames_;
  std::string received_;
};

/// A plain TCP connection to 127.0.0.1: sends `bytes` and returns what comes until the server closes.
std::string talk_plainly(std::uint16_t port, std::string_view bytes);

}  // namespace gpuskew
