#include "tests/e2e/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include <openssl/ssl.h>

namespace gpuskew {
namespace {

class Socket {
 public:
  explicit Socket(const std::string& address) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const std::size_t colon = address.rfind(':');
    sockaddr_in peer{};
    peer.sin_family = AF_INET;
    peer.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
    if (::inet_pton(AF_INET, address.substr(0, colon).c_str(), &peer.sin_addr) != 1 ||
        ::connect(fd_, reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)) != 0) {
      throw std::runtime_error("connecting to " + address + ": " + std::strerror(errno));
    }
    std::signal(SIGPIPE, SIG_IGN);
  }
  ~Socket() { ::close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int fd() const { return fd_; }

  /// Whether there is something to read (or the end) before the deadline.
  bool readable_until(std::chrono::steady_clock::time_point deadline) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd wait{fd_, POLLIN, 0};
    return left.count() > 0 && ::poll(&wait, 1, static_cast<int>(left.count())) == 1;
  }

 private:
  int fd_;
};

struct FreeSsl {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

}  // namespace

Exchange exchange_plain(const std::string& address, std::string_view bytes, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  const Socket socket(address);
  Exchange result;
  result.handshake = true;
  result.closed = ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0;
  std::array<char, 4096> buffer{};
  while (!result.closed && socket.readable_until(deadline)) {
    const ssize_t got = ::read(socket.fd(), buffer.data(), buffer.size());
    result.closed = got <= 0;
    if (got > 0) {
      result.received.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }
  return result;
}

Exchange exchange_tls(const std::string& address, const TlsFiles& files, bool only_tls12, std::string_view bytes,
                      std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  const std::unique_ptr<SSL_CTX, FreeSsl> context(SSL_CTX_new(TLS_client_method()));
  if (only_tls12) {
    SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  }
  if (!files.certificate.empty() &&
      (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1 ||
       SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1)) {
    throw std::runtime_error("reading " + files.certificate.string());
  }
  const Socket socket(address);
  const std::unique_ptr<SSL, FreeSsl> ssl(SSL_new(context.get()));
  SSL_set_fd(ssl.get(), socket.fd());
  Exchange result;
  result.handshake = SSL_connect(ssl.get()) == 1;
  if (!result.handshake) {
    result.closed = true;
    return result;
  }
  result.closed = SSL_write(ssl.get(), bytes.data(), static_cast<int>(bytes.size())) <= 0;
  std::array<char, 4096> buffer{};
  while (!result.closed && (SSL_pending(ssl.get()) > 0 || socket.readable_until(deadline))) {
    const int got = SSL_read(ssl.get(), buffer.data(), static_cast<int>(buffer.size()));
    result.closed = got <= 0;
    if (got > 0) {
      result.received.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }
  return result;
}

}  // namespace gpuskew
