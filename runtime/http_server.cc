#include "runtime/http_server.h"

#include <array>
#include <ctime>
#include <set>

#include <asio/io_context.hpp>

#include "runtime/http_request.h"
#include "runtime/http_response.h"
#include "runtime/http_stream.h"
#include "runtime/listener.h"
#include "runtime/log.h"

namespace gpuskew {
namespace {

using asio::ip::tcp;

constexpr std::size_t kReadBytes = 8192;
/// A body up to this goes out in one write with its head; a longer one is not copied.
constexpr std::size_t kJoinedBodyBytes = 65536;
/// How long a refused client may take to read why.
constexpr Duration kLinger = std::chrono::seconds(2);

Deadline after(Duration wait) {
  return std::chrono::steady_clock::now() + wait;
}

}  // namespace

struct HttpServer::State {
  State(const Log& to, HttpServerOptions chosen, Handler handle)
      : log(to), options(std::move(chosen)), handler(std::move(handle)) {}

  /// What is read of one connection so far.
  struct Connection {
    HttpRequestReader reader;
    std::array<char, kReadBytes> buffer{};
    std::string_view unread;  // of buffer
  };
  /// A request, why it is refused, or nothing: the client closed.
  using Received = std::optional<tl::expected<HttpRequestReader::Message, HttpRefusal>>;

  /// While it lives, stop() may close the client at once.
  class Waiting {
   public:
    Waiting(State& state, HttpStream& client) : state_(state), client_(client) { state_.waiting.insert(&client_); }
    ~Waiting() { state_.waiting.erase(&client_); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    State& state_;
    HttpStream& client_;
  };

  static asio::awaitable<void> serve(std::shared_ptr<State> state, tcp::socket socket);
  static asio::awaitable<Result<void>> converse(std::shared_ptr<State> state, HttpStream& client, std::string peer);
  static asio::awaitable<Result<Received>> receive(std::shared_ptr<State> state, HttpStream& client,
                                                   Connection& connection);
  static asio::awaitable<Result<void>> refuse(std::shared_ptr<State> state, HttpStream& client, HttpRefusal refusal);
  static asio::awaitable<Result<void>> send(HttpStream& client, HttpResponse response, bool is_head, bool keep_alive);
  Result<HttpStream> accept(tcp::socket socket) const;
  static asio::awaitable<HttpResponse> respond(std::shared_ptr<State> state, HttpRequest request);
  HttpResponse handle(const HttpRequest& request) const;

  const Log& log;
  HttpServerOptions options;
  Handler handler;
  std::optional<TlsContext> tls;
  std::unique_ptr<Listener> listener;
  std::set<HttpStream*> waiting;
  bool is_stopping = false;
};

Result<HttpStream> HttpServer::State::accept(tcp::socket socket) const {
  if (!tls) {
    return HttpStream::plain(std::move(socket));
  }
  auto stream = TlsStream::server(std::move(socket), *tls);
  if (!stream) {
    return tl::unexpected(stream.error());
  }
  return HttpStream(std::move(*stream));
}

HttpResponse HttpServer::State::handle(const HttpRequest& request) const {
  try {
    return handler(request);
  } catch (const std::exception& error) {
    log.error("request failed", {{"path", request.path}, {"peer", request.peer}, {"reason", error.what()}});
  }
  return refusal_response(HttpRefusal{500, "the request failed; the log says why"});
}

asio::awaitable<HttpResponse> HttpServer::State::respond(std::shared_ptr<State> state, HttpRequest request) {
  if (state->options.guard) {
    std::optional<HttpResponse> refused;
    try {
      refused = co_await state->options.guard(request);
    } catch (const std::exception& error) {
      state->log.error("request failed", {{"path", request.path}, {"peer", request.peer}, {"reason", error.what()}});
      refused = refusal_response(HttpRefusal{500, "the request failed; the log says why"});
    }
    if (refused) {
      co_return std::move(*refused);
    }
  }
  co_return state->handle(request);
}

asio::awaitable<void> HttpServer::State::serve(std::shared_ptr<State> state, tcp::socket socket) {
  const std::string peer = peer_address(socket);
  Result<HttpStream> client = state->accept(std::move(socket));
  if (!client) {
    state->log.debug("refused HTTP client", {{"peer", peer}, {"reason", client.error().what}});
    co_return;
  }
  std::optional<Waiting> waiting(std::in_place, *state, *client);
  Result<void> ended = co_await client->handshake(after(kHttpHandshakeTimeout));
  waiting.reset();
  if (ended) {
    ended = co_await converse(state, *client, peer);
  }
  if (!ended) {
    state->log.debug("HTTP client left", {{"peer", peer}, {"reason", ended.error().what}});
    co_return;
  }
  co_await client->shutdown(after(kHttpWriteTimeout));
}

asio::awaitable<Result<HttpServer::State::Received>> HttpServer::State::receive(std::shared_ptr<State> state,
                                                                                HttpStream& client,
                                                                                Connection& connection) {
  const Deadline deadline = after(state->options.read_timeout);
  std::optional<HttpRefusal> refusal = connection.reader.read(connection.unread);
  while (!refusal && !connection.reader.is_complete()) {
    const Waiting waiting(*state, client);
    const Result<std::size_t> got = co_await client.read_some(connection.buffer, deadline);
    if (!got) {
      co_return tl::unexpected(got.error());
    }
    if (*got == 0) {
      co_return Received(std::nullopt);
    }
    connection.unread = std::string_view(connection.buffer.data(), *got);
    refusal = connection.reader.read(connection.unread);
  }
  if (refusal) {
    co_return Received(tl::unexpected(*refusal));
  }
  co_return Received(connection.reader.take());
}

asio::awaitable<Result<void>> HttpServer::State::converse(std::shared_ptr<State> state, HttpStream& client,
                                                          std::string peer) {
  Connection connection;
  bool keep_alive = true;
  while (keep_alive && !state->is_stopping) {
    Result<Received> received = co_await receive(state, client, connection);
    if (!received) {
      co_return tl::unexpected(received.error());
    }
    if (!*received) {
      co_return Result<void>();
    }
    auto& message = **received;
    if (!message) {
      co_return co_await refuse(state, client, message.error());
    }
    message->request.peer = peer;
    keep_alive = message->keep_alive && !state->is_stopping;
    HttpResponse response = co_await respond(state, std::move(message->request));
    const Result<void> sent = co_await send(client, std::move(response), message->is_head, keep_alive);
    if (!sent) {
      co_return sent;
    }
  }
  co_return Result<void>();
}

asio::awaitable<Result<void>> HttpServer::State::refuse(std::shared_ptr<State> state, HttpStream& client,
                                                        HttpRefusal refusal) {
  HttpResponse response = refusal_response(refusal);
  const Result<void> sent = co_await send(client, std::move(response), false, false);
  if (!sent) {
    co_return sent;
  }
  // Closing a socket with bytes unread makes the kernel send a reset, which can overtake the answer.
  const Deadline deadline = after(kLinger);
  std::array<char, kReadBytes> rest{};
  const Waiting waiting(*state, client);
  for (;;) {
    const Result<std::size_t> got = co_await client.read_some(rest, deadline);
    if (!got || *got == 0) {
      co_return Result<void>();
    }
  }
}

asio::awaitable<Result<void>> HttpServer::State::send(HttpStream& client, HttpResponse response, bool is_head,
                                                      bool keep_alive) {
  const Deadline deadline = after(kHttpWriteTimeout);
  std::string head = head_of(response, keep_alive, std::time(nullptr));
  if (is_head) {
    response.body.clear();
  }
  if (response.body.size() <= kJoinedBodyBytes) {
    head += response.body;
    response.body.clear();
  }
  Result<void> sent = co_await client.write_all(head, deadline);
  if (sent && !response.body.empty()) {
    sent = co_await client.write_all(response.body, deadline);
  }
  co_return sent;
}

HttpServer::HttpServer(std::shared_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::start(asio::io_context& io, const Log& log, HttpServerOptions options,
                                                      Handler handler) {
  auto state = std::make_shared<State>(log, std::move(options), std::move(handler));
  if (state->options.tls) {
    auto context = TlsContext::server(*state->options.tls);
    if (!context) {
      return tl::unexpected(context.error());
    }
    state->tls = std::move(*context);
  }
  ListenerOptions listen;
  listen.name = "API";
  listen.endpoint = state->options.endpoint;
  listen.max_connections = state->options.max_connections;
  const std::weak_ptr<State> weak = state;  // the listener is the state's own
  auto listener = Listener::open(io, log, std::move(listen),
                                 [weak](tcp::socket socket) { return State::serve(weak.lock(), std::move(socket)); });
  if (!listener) {
    return tl::unexpected(listener.error());
  }
  state->listener = std::move(*listener);
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

tcp::endpoint HttpServer::endpoint() const {
  return state_->listener->endpoint();
}

std::size_t HttpServer::open_connections() const {
  return state_->listener->counts().open;
}

Result<void> HttpServer::reload_tls() {
  return state_->tls ? state_->tls->reload() : Result<void>();
}

Result<void> HttpServer::reload_tls(TlsFiles files) {
  if (!state_->tls) {
    return fail(ErrorCode::Unsupported, "the API listens without TLS; switching it on needs a restart");
  }
  return state_->tls->reload(std::move(files));
}

asio::awaitable<Result<void>> HttpServer::run() {
  return state_->listener->run();
}

void HttpServer::stop() {
  state_->is_stopping = true;
  state_->listener->close();
  for (HttpStream* const client : state_->waiting) {
    client->close();
  }
}

}  // namespace gpuskew
