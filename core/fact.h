#pragma once

// Unknown is never fine: a fact is a value, or certainly absent, or unknown with the reason. A
// default-made fact is unknown, so a fact nobody read can not pass for one that was.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/result.h"

namespace gpuskew {

template <class T>
class Fact {
 public:
  Fact() = default;

  static Fact known(T value, std::string source) {
    return Fact(std::in_place_index<0>, std::move(source), std::move(value));
  }
  /// We looked at `source`, and the thing is certainly not there (a module that is not loaded).
  static Fact absent(std::string source) { return Fact(std::in_place_index<1>, std::move(source)); }
  /// We could not tell. `why.what` is shown to people as "unknown, because <what>".
  static Fact unknown(Error why, std::string source) {
    return Fact(std::in_place_index<2>, std::move(source), std::move(why));
  }
  /// NotFound becomes absent, every other error unknown.
  static Fact from(Result<T> read, std::string source) {
    if (read) {
      return known(std::move(*read), std::move(source));
    }
    if (read.error().code == ErrorCode::NotFound) {
      return absent(std::move(source));
    }
    return unknown(std::move(read.error()), std::move(source));
  }

  bool is_known() const { return state_.index() == 0; }
  bool is_absent() const { return state_.index() == 1; }
  bool is_unknown() const { return state_.index() == 2; }

  /// Only when is_known(); a bug otherwise, and thrown as one.
  const T& value() const { return std::get<0>(state_); }
  const T* operator->() const { return &value(); }
  const T& operator*() const { return value(); }

  /// Only when is_unknown(); a bug otherwise, and thrown as one.
  const Error& why() const { return std::get<2>(state_); }
  /// The path (beneath the host root) or interface the answer came from; where we looked, when absent or unknown.
  const std::string& source() const { return source_; }

  bool operator==(const Fact&) const = default;

 private:
  using State = std::variant<T, std::monostate, Error>;
  template <std::size_t kState, class... Args>
  Fact(std::in_place_index_t<kState> state, std::string source, Args&&... args)
      : state_(state, std::forward<Args>(args)...), source_(std::move(source)) {}

  State state_{std::in_place_index<2>, Error{ErrorCode::Unsupported, "not reported"}};
  std::string source_;
};

}  // namespace gpuskew
