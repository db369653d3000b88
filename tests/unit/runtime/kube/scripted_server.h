#pragma once

// A server that answers with the bytes it is told to, whatever it is asked: what no real API server sends.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include "runtime/kube/access.h"
#include "tests/unit/runtime/event_loop.h"

namespace gpuskew {

/// Says nothing and keeps the connection.
inline const std::string kSilence = "silence";

/// The answers of one connection, one for each request; it is closed behind the last.
using ConnectionScript = std::vector<std::string>;

inline std::string http_reply(const std::string& status, const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + headers + "\r\n" + body;
}

inline std::string chunk(const std::string& text) {
  std::string size;
  for (std::size_t left = text.size(); left != 0; left /= 16) {
    size.insert(size.begin(), "0123456789abcdef"[left % 16]);
  }
  return size + "\r\n" + text + "\r\n";
}

class ScriptedServer {
 public:
  ScriptedServer(asio::io_context& io, std::vector<ConnectionScript> connections)
      : state_(std::make_shared<State>(io, std::move(connections))) {
    spawn(io, accept_all(state_));
  }
  ~ScriptedServer() {
    asio::error_code ignored;
    state_->acceptor.close(ignored);
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(state_->acceptor.local_endpoint().port()); }
  KubeAccess access() const {
    KubeAccess access;
    access.server = url();
    access.source = "test";
    return access;
  }
  /// Heads and bodies, in the order they came.
  const std::vector<std::string>& requests() const { return state_->requests; }

 private:
  using tcp = asio::ip::tcp;
  struct State {
    State(asio::io_context& loop, std::vector<ConnectionScript> connections)
        : io(loop),
          acceptor(loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
          scripts(std::move(connections)) {}
    asio::io_context& io;
    tcp::acceptor acceptor;
    std::vector<ConnectionScript> scripts;
    std::vector<std::string> requests;
  };

  static asio::awaitable<void> accept_all(std::shared_ptr<State> state) {
    for (const ConnectionScript& script : state->scripts) {
      asio::error_code error;
      tcp::socket socket = co_await state->acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
      if (error) {
        co_return;
      }
      spawn(state->io, serve(state, std::make_shared<tcp::socket>(std::move(socket)), script));
    }
    asio::error_code ignored;
    state->acceptor.close(ignored);
  }

  static bool is_whole(const std::string& request) {
    const std::size_t end = request.find("\r\n\r\n");
    const std::size_t length = request.find("Content-Length: ");
    if (end == std::string::npos) {
      return false;
    }
    return length > end || request.size() >= end + 4 + std::stoul(request.substr(length + 16));
  }

  static asio::awaitable<void> serve(std::shared_ptr<State> state, std::shared_ptr<tcp::socket> socket,
                                     ConnectionScript script) {
    asio::error_code error;
    for (const std::string& answer : script) {
      std::string request;
      while (!is_whole(request) && !error) {
        char buffer[4096];
        const std::size_t got =
            co_await socket->async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, error));
        request.append(buffer, got);
      }
      if (error) {
        co_return;
      }
      state->requests.push_back(request);
      if (answer == kSilence) {
        char buffer[1];
        co_await socket->async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, error));
        co_return;
      }
      co_await asio::async_write(*socket, asio::buffer(answer), asio::redirect_error(asio::use_awaitable, error));
    }
  }

  std::shared_ptr<State> state_;
};

}  // namespace gpuskew
