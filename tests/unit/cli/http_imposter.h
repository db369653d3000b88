#pragma once

// A server that says what a test tells it to: a real socket on 127.0.0.1, plain or TLS, one connection at a time.

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct ssl_ctx_st;

namespace gpuskew {

class HttpImposter {
 public:
  /// Plain HTTP.
  HttpImposter();
  /// TLS with this certificate (PEM). A client must show one signed by `client_ca` when that is not empty.
  HttpImposter(const std::filesystem::path& certificate, const std::filesystem::path& key,
               const std::filesystem::path& client_ca = {});
  /// Stops accepting and joins; a connection that is open then has at most a second to end.
  ~HttpImposter();
  HttpImposter(const HttpImposter&) = delete;
  HttpImposter& operator=(const HttpImposter&) = delete;

  /// What a GET of `target` (path and query) is answered with; anything else is 404 without a body.
  void answer(const std::string& target, int status, const std::string& body);
  void answer(const std::string& target, const std::string& body) { answer(target, 200, body); }
  /// The bytes as they are, in place of a response; "" closes the connection.
  void answer_with_bytes(const std::string& target, const std::string& bytes);

  /// "http://127.0.0.1:43211"
  std::string url() const;
  std::string port() const { return std::to_string(port_); }

  /// The heads of all requests so far, as received.
  std::vector<std::string> requests() const;

 private:
  struct ContextDeleter {
    void operator()(ssl_ctx_st* context) const;
  };

  void listen();
  void serve();
  void serve_one(int connection);
  std::string response_to(const std::string& head);

  std::unique_ptr<ssl_ctx_st, ContextDeleter> tls_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> responses_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace gpuskew
