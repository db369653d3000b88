#pragma once

// The agent's side of the stream: one connection to every aggregator that its name stands for. A headless Service's
// name resolves to each replica, and each then has the whole picture.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "agent/stream.h"
#include "runtime/resolve.h"

namespace gpuskew {

/// How often the name is looked up again: a replica that is new has the node this soon.
inline constexpr Duration kLookEvery = std::chrono::seconds(60);
/// After a look-up that failed, or a connection that was lost: its address may be another one now.
inline constexpr Duration kLookSoon = std::chrono::seconds(2);
/// Replicas beyond these get no stream.
inline constexpr std::size_t kMaxStreams = 8;

struct StreamsTiming {
  Duration look_every = kLookEvery;
  Duration look_soon = kLookSoon;
};

/// Two addresses may be one aggregator's (IPv4 and IPv6 of one host). The aggregator keeps one connection a node, so a
/// second one would push the first out, and that one the second, without end: of the addresses that answer with the
/// same instance, the one that answered last is kept, and the others are left alone for as long as it stands.
class Streams {
 public:
  using Endpoints = std::vector<asio::ip::tcp::endpoint>;
  using Resolver = std::function<asio::awaitable<Result<Endpoints>>(HostPort address, Deadline deadline)>;

  /// `io` and `log` must outlive the object, and it the loop of `io`. `on_state` is called after each change of
  /// state().
  Streams(asio::io_context& io, const Log& log, StreamOptions options, std::function<void()> on_state = {},
          Resolver resolver = resolve, StreamsTiming timing = {});
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  /// Replaces what was offered before. Never waits.
  void offer(std::shared_ptr<const Snapshot> snapshot);

  /// A task for Run: until stop(). Keeps the connections, whatever it takes; never fails.
  asio::awaitable<Result<void>> run();

  /// To the first address that answers; see Stream::deliver_once().
  asio::awaitable<Result<void>> deliver_once(Deadline deadline);

  void stop();
  /// Connects anew, by these options; also with the same ones, for new certificates.
  void reconnect(StreamOptions options);

  /// "connected to 10.0.0.1:7481", with several addresses "connected to 2 of 3 addresses of gpuskew:7481; not
  /// connected to ...".
  const std::string& state() const { return state_; }

 private:
  struct Peer;
  using Peers = std::list<std::shared_ptr<Peer>>;

  asio::awaitable<Result<Endpoints>> look_up();
  asio::awaitable<Result<Endpoints>> until_interrupted(std::uint64_t options_turn);
  asio::awaitable<void> wait_for_next_look();
  void settle(const Endpoints& found);
  void start(const asio::ip::tcp::endpoint& endpoint);
  void ended(const std::shared_ptr<Peer>& peer, const std::exception_ptr& thrown);
  void peer_changed(const std::shared_ptr<Peer>& peer);
  void leave_others_of(const std::shared_ptr<Peer>& newest);
  void take_up_left(const std::string& instance);
  void note_look_up(const Error& error);
  void look_by(Deadline when);
  void update_state();
  bool is_served(const asio::ip::tcp::endpoint& endpoint) const;

  asio::io_context& io_;
  const Log& log_;
  StreamOptions options_;
  std::function<void()> on_state_;
  Resolver resolver_;
  StreamsTiming timing_;
  std::shared_ptr<const Snapshot> newest_;
  Peers peers_;
  asio::steady_timer next_look_;
  asio::steady_timer interruption_;
  std::string state_;
  bool stopping_ = false;
  std::uint64_t options_turn_ = 0;  ///< counts reconnect()
  int failed_looks_ = 0;
};

}  // namespace gpuskew
