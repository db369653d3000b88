#include "aggregator/commit_turn.h"

#include <asio/experimental/as_tuple.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

#include "runtime/clock.h"

namespace gpuskew {

asio::awaitable<void> CommitTurn::committed() {
  if (!writer_.has_pending()) {
    co_return;
  }
  if (turn_ == nullptr) {
    turn_ = std::make_shared<asio::steady_timer>(io_, asio::steady_timer::time_point::max());
    asio::post(io_, [this] { commit(); });
  }
  std::shared_ptr<asio::steady_timer> turn = turn_;
  co_await turn->async_wait(asio::experimental::as_tuple(asio::use_awaitable));
}

void CommitTurn::commit() {
  std::shared_ptr<asio::steady_timer> turn = std::move(turn_);
  turn_ = nullptr;
  writer_.flush(wall_clock_now());
  turn->cancel();
}

}  // namespace gpuskew
