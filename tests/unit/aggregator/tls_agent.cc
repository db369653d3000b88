#include "tests/unit/aggregator/tls_agent.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include <openssl/ssl.h>

namespace gpuskew {

namespace {

int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  timeval patience{10, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("connect failed");
  }
  return fd;
}

}  // namespace

void TlsAgent::Free::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}
void TlsAgent::Free::operator()(SSL* ssl) const {
  SSL_free(ssl);
}

TlsAgent::TlsAgent(std::uint16_t port, const TlsFiles& files) : TlsAgent(port, files, TLS1_3_VERSION) {}

TlsAgent::TlsAgent(std::uint16_t port, const TlsFiles& files, int tls_version)
    : fd_(connect_to(port)), context_(SSL_CTX_new(TLS_client_method())) {
  SSL_CTX_set_min_proto_version(context_.get(), tls_version);
  SSL_CTX_set_max_proto_version(context_.get(), tls_version);
  if (!files.certificate.empty()) {
    SSL_CTX_use_certificate_chain_file(context_.get(), files.certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context_.get(), files.key.c_str(), SSL_FILETYPE_PEM);
  }
  ssl_.reset(SSL_new(context_.get()));
  SSL_set_fd(ssl_.get(), fd_);
  shaken_ = SSL_connect(ssl_.get()) == 1;
}

TlsAgent::~TlsAgent() {
  ssl_.reset();
  ::close(fd_);
}

void TlsAgent::send_bytes(std::string_view bytes) {
  // A failure shows in the next receive(): the server may have closed already.
  SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
}

void TlsAgent::send(std::string_view payload) {
  std::string frame;
  if (append_frame(frame, payload)) {
    send_bytes(frame);
  }
}

std::optional<v1::AggregatorMessage> TlsAgent::receive() {
  for (;;) {
    const Result<std::optional<std::string_view>> frame = frames_.next();
    if (!frame) {
      return std::nullopt;
    }
    if (*frame) {
      v1::AggregatorMessage message;
      return message.ParseFromArray((*frame)->data(), static_cast<int>((*frame)->size())) ? std::optional(message)
                                                                                          : std::nullopt;
    }
    received_.resize(4096);
    const int got = SSL_read(ssl_.get(), received_.data(), static_cast<int>(received_.size()));
    if (got <= 0) {
      return std::nullopt;
    }
    frames_.feed(std::string_view(received_.data(), static_cast<std::size_t>(got)));
  }
}

std::string talk_plainly(std::uint16_t port, std::string_view bytes) {
  const int fd = connect_to(port);
  ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  std::string answer;
  std::array<char, 1024> block{};
  for (;;) {
    const ssize_t got = ::recv(fd, block.data(), block.size(), 0);
    if (got <= 0) {
      break;
    }
    answer.append(block.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  return answer;
}

}  // namespace gpuskew
