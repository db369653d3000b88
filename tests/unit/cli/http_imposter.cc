#include "tests/unit/cli/http_imposter.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include <openssl/ssl.h>

namespace gpuskew {
namespace {

constexpr std::size_t kMaxHead = 64u << 10;

void check(bool good, const char* what) {
  if (!good) {
    throw std::runtime_error(std::string("http imposter: ") + what + ": " + std::strerror(errno));
  }
}

/// One connection's bytes, plain or encrypted.
class Wire {
 public:
  Wire(int socket, ssl_ctx_st* tls) : socket_(socket), ssl_(tls == nullptr ? nullptr : SSL_new(tls)) {
    if (ssl_ != nullptr) {
      SSL_set_fd(ssl_, socket_);
      open_ = SSL_accept(ssl_) == 1;
    }
  }
  ~Wire() {
    if (ssl_ != nullptr) {
      SSL_shutdown(ssl_);
      SSL_free(ssl_);
    }
    ::close(socket_);
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  /// Up to the blank line; "" when the peer went away before it.
  std::string read_head() {
    std::string head;
    std::array<char, 4096> buffer{};
    while (open_ && head.find("\r\n\r\n") == std::string::npos && head.size() < kMaxHead) {
      const auto got = ssl_ != nullptr ? SSL_read(ssl_, buffer.data(), static_cast<int>(buffer.size()))
                                       : static_cast<int>(::recv(socket_, buffer.data(), buffer.size(), 0));
      if (got <= 0) {
        return {};
      }
      head.append(buffer.data(), static_cast<std::size_t>(got));
      if (head.front() < 'A' || head.front() > 'Z') {
        return {};  // no HTTP: a client that wants TLS
      }
    }
    return head;
  }

  void write(const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t left = bytes.size() - at;
      const auto sent = ssl_ != nullptr ? SSL_write(ssl_, bytes.data() + at, static_cast<int>(left))
                                        : static_cast<int>(::send(socket_, bytes.data() + at, left, MSG_NOSIGNAL));
      if (sent <= 0) {
        return;
      }
      at += static_cast<std::size_t>(sent);
    }
  }

 private:
  int socket_;
  SSL* ssl_;
  bool open_ = true;
};

}  // namespace

void HttpImposter::ContextDeleter::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}

HttpImposter::HttpImposter() {
  listen();
}

HttpImposter::HttpImposter(const std::filesystem::path& certificate, const std::filesystem::path& key,
                           const std::filesystem::path& client_ca)
    : tls_(SSL_CTX_new(TLS_server_method())) {
  // A client that gives up in the middle of a handshake must not end the test.
  std::signal(SIGPIPE, SIG_IGN);
  check(SSL_CTX_use_certificate_file(tls_.get(), certificate.c_str(), SSL_FILETYPE_PEM) == 1, "certificate");
  check(SSL_CTX_use_PrivateKey_file(tls_.get(), key.c_str(), SSL_FILETYPE_PEM) == 1, "key");
  if (!client_ca.empty()) {
    check(SSL_CTX_load_verify_locations(tls_.get(), client_ca.c_str(), nullptr) == 1, "client CA");
    SSL_CTX_set_verify(tls_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  listen();
}

HttpImposter::~HttpImposter() {
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
}

void HttpImposter::listen() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check(listener_ >= 0, "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  check(::bind(listener_, generic, size) == 0, "bind");
  check(::listen(listener_, SOMAXCONN) == 0, "listen");
  check(::getsockname(listener_, generic, &size) == 0, "getsockname");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

void HttpImposter::serve() {
  for (;;) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) {
      return;
    }
    timeval patience{1, 0};
    ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    serve_one(connection);
  }
}

void HttpImposter::serve_one(int connection) {
  Wire wire(connection, tls_.get());
  const std::string head = wire.read_head();
  if (!head.empty()) {
    wire.write(response_to(head));
  }
}

std::string HttpImposter::response_to(const std::string& head) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(head);
  const std::size_t from = head.find(' ') + 1;
  const auto found = responses_.find(head.substr(from, head.find(' ', from) - from));
  return found == responses_.end() ? "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                                   : found->second;
}

void HttpImposter::answer(const std::string& target, int status, const std::string& body) {
  answer_with_bytes(target, "HTTP/1.1 " + std::to_string(status) +
                                " Answer\r\nContent-Type: application/json\r\nContent-Length: " +
                                std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body);
}

void HttpImposter::answer_with_bytes(const std::string& target, const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  responses_[target] = bytes;
}

std::string HttpImposter::url() const {
  return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + port();
}

std::vector<std::string> HttpImposter::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

}  // namespace gpuskew
