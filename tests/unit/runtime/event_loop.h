#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <string>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "runtime/ready_socket.h"

namespace gpuskew {

/// No test waits longer than this for something that should happen.
inline constexpr std::chrono::seconds kTestLimit{20};

inline Deadline soon() {
  return std::chrono::steady_clock::now() + kTestLimit;
}

template <class T>
asio::awaitable<void> store(asio::awaitable<T> work, std::optional<T>& result) {
  T value = co_await std::move(work);
  result.emplace(std::move(value));
}

/// Runs the loop until the coroutine has ended, and returns what it returned. Other work on the loop goes on meanwhile.
template <class T>
T run_to_end(asio::io_context& io, asio::awaitable<T> work, std::chrono::seconds patience = kTestLimit) {
  std::optional<T> result;
  std::exception_ptr thrown;
  bool ended = false;
  asio::co_spawn(io, store(std::move(work), result), [&](const std::exception_ptr& error) {
    thrown = error;
    ended = true;
  });
  io.restart();
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!ended && std::chrono::steady_clock::now() < limit) {
    io.run_one_until(limit);
  }
  if (thrown) {
    std::rethrow_exception(thrown);
  }
  if (!ended) {
    ADD_FAILURE() << "the coroutine did not end in time";
    std::abort();
  }
  return std::move(*result);
}

/// Starts a coroutine beside the test's own; its exceptions fail the test, except a cancellation at the test's end.
template <class T>
void spawn(asio::io_context& io, asio::awaitable<T> work) {
  asio::co_spawn(io, std::move(work), [](const std::exception_ptr& error, auto...) {
    try {
      if (error) {
        std::rethrow_exception(error);
      }
    } catch (const std::exception& failure) {
      ADD_FAILURE() << failure.what();
    }
  });
}

/// Runs the loop until `done` says so.
template <class Predicate>
void run_until(asio::io_context& io, Predicate done, std::chrono::seconds patience = kTestLimit) {
  io.restart();
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!done() && std::chrono::steady_clock::now() < limit) {
    io.run_one_for(std::chrono::milliseconds(50));
    io.restart();
  }
  EXPECT_TRUE(done()) << "did not happen in time";
}

}  // namespace gpuskew
