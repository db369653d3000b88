#pragma once

// Unknown is never fine: a fact is a value, or certainly absent, or unknown with the reason. A
// default-made fact is unknown, so a fact nobody read can not pass for one that was.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "core/result.h"

namespace gpuskew {

class FactPool;

/// Never changes once it is made, so copies share one value: a report that differs from the last one in a single fact
/// costs that fact, and equal facts of a thousand nodes can be kept once (FactPool).
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

  bool is_known() const { return told().state.index() == 0; }
  bool is_absent() const { return told().state.index() == 1; }
  bool is_unknown() const { return told().state.index() == 2; }

  /// Only when is_known(); a bug otherwise, and thrown as one.
  const T& value() const { return std::get<0>(told().state); }
  const T* operator->() const { return &value(); }
  const T& operator*() const { return value(); }

  /// Only when is_unknown(); a bug otherwise, and thrown as one.
  const Error& why() const { return std::get<2>(told().state); }
  /// The path (beneath the host root) or interface the answer came from; where we looked, when absent or unknown.
  const std::string& source() const { return told().source; }

  bool operator==(const Fact& other) const { return told_ == other.told_ || told() == other.told(); }

 private:
  friend class FactPool;

  struct Told {
    template <std::size_t kState, class... Args>
    Told(std::in_place_index_t<kState> index, std::string from, Args&&... args)
        : state(index, std::forward<Args>(args)...), source(std::move(from)) {}

    std::variant<T, std::monostate, Error> state;
    std::string source;

    bool operator==(const Told&) const = default;
  };

  template <std::size_t kState, class... Args>
  Fact(std::in_place_index_t<kState> index, std::string source, Args&&... args)
      : told_(std::make_shared<const Told>(index, std::move(source), std::forward<Args>(args)...)) {}

  const Told& told() const {
    static const Told kNothing(std::in_place_index<2>, "", Error{ErrorCode::Unsupported, "not reported"});
    return told_ == nullptr ? kNothing : *told_;
  }

  std::shared_ptr<const Told> told_;  ///< null: nobody read it
};

}  // namespace gpuskew
