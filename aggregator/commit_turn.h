#pragma once

// One transaction for everything that happened in one turn of the event loop: many agents' reports cost one commit, and
// each is acknowledged only after it.

#include <memory>

#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include "aggregator/history_writer.h"

namespace asio {
class io_context;
}

namespace gpuskew {

class CommitTurn {
 public:
  /// Both must outlive the object, which must outlive the io_context's last handler.
  CommitTurn(asio::io_context& io, HistoryWriter& writer) : io_(io), writer_(writer) {}

  /// Ends when what is pending now was written. It also ends when that failed: the writer then holds it and goes on
  /// trying, and an agent that sent it again could not help.
  asio::awaitable<void> committed();

 private:
  void commit();

  asio::io_context& io_;
  HistoryWriter& writer_;
  /// Those who wait for the commit of this turn; null: none is due.
  std::shared_ptr<asio::steady_timer> turn_;
};

}  // namespace gpuskew
