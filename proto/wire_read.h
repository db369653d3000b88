#pragma once

// How a fact is read from the wire: one template for all of them. A text on the wire is a std::string already: it is
// moved, not copied, into the fact, which is why readers take messages that they may empty.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fact.h"
#include "core/result.h"
#include "core/time.h"
#include "core/version.h"
#include "gpuskew/v1/facts.pb.h"
#include "proto/text.h"

namespace gpuskew::wire {

/// 9999-12-31T23:59:59.999Z. Sums and differences of times up to here can not overflow.
inline constexpr std::int64_t kMaxUnixMs = 253'402'300'799'999;

/// Reads the fields of one known value. The first that is wrong is remembered, and makes the whole value unknown.
class FieldReader {
 public:
  /// What a value can not do without. Wrong when it is empty, longer than `limit` or has control characters.
  void text(std::string* from, std::string& to, std::string_view field, std::size_t limit = kMaxWireText);
  /// Text for people, which may be empty: it is cut at `limit`, and its control characters are replaced.
  void prose(std::string* from, std::string& to, std::size_t limit = kMaxWireText);
  void time(std::int64_t unix_ms, Time& to, std::string_view field);
  void device_id(std::uint32_t from, std::uint16_t& to, std::string_view field);
  /// "0000:3b:00.0"; the domain has 4 to 8 digits (behind Intel's VMD it has 5).
  void pci_address(std::string* from, std::string& to);

  /// For types with a parse function of their own. Text past the limit is not handed on: a parser may quote it.
  template <class T>
  void parsed(const std::string& from, T& to, std::string_view field) {
    if (error_ || !fits(from, field)) {
      return;
    }
    Result<T> value = T::parse(from);
    if (value) {
      to = std::move(*value);
    } else {
      fail_with(field, value.error());
    }
  }

  /// An enumeration by its word; `what` names the kind of word in the error.
  template <class Enum>
  void word(const std::string& from, Enum& to, std::optional<Enum> (*value_of)(std::string_view),
            std::string_view what) {
    if (const std::optional<Enum> value = value_of(from)) {
      to = *value;
    } else {
      unknown_word(from, what);
    }
  }

  /// At most `limit` items, each read by `read_item(wire item, item, FieldReader&)`.
  template <class T, class WireItems, class ReadItem>
  void items(WireItems* from, std::vector<T>& to, std::size_t limit, std::string_view what, ReadItem read_item) {
    const auto count = static_cast<std::size_t>(from->size());
    if (!check_count(count, limit, what)) {
      return;
    }
    to.reserve(count);
    for (auto& item : *from) {
      read_item(item, to.emplace_back(), *this);
      if (error_) {
        return;
      }
    }
  }

  /// The same for texts, each as text() reads it.
  template <class WireTexts>
  void texts(WireTexts* from, std::vector<std::string>& to, std::size_t limit, std::string_view what) {
    items(from, to, limit, what,
          [what](std::string& item, std::string& text, FieldReader& in) { in.text(&item, text, what); });
  }

  bool check_count(std::size_t count, std::size_t limit, std::string_view what);
  void fail_with(ErrorCode code, std::string what);
  void fail_with(std::string_view field, const Error& why);
  const std::optional<Error>& error() const { return error_; }

 private:
  bool fits(const std::string& text, std::string_view field);
  void unknown_word(const std::string& word, std::string_view what);

  std::optional<Error> error_;
};

std::string take_prose(std::string* text);
Error error_from(v1::Unknown& from);
Error not_reported();
/// `why` with the field's name before it, cut and made safe to show.
Error in_field(std::string_view field, const Error& why);

/// `read_known(wire fact, value, FieldReader&)` reads the known case; its error makes the fact unknown, with the
/// field's name before it.
template <class T, class WireFact, class ReadKnown>
Fact<T> read_fact(WireFact& from, std::string_view field, ReadKnown read_known) {
  std::string source = take_prose(from.mutable_source());
  if (from.has_absent()) {
    return Fact<T>::absent(std::move(source));
  }
  if (from.has_unknown()) {
    return Fact<T>::unknown(error_from(*from.mutable_unknown()), std::move(source));
  }
  if (from.state_case() == WireFact::STATE_NOT_SET) {
    return Fact<T>::unknown(not_reported(), std::move(source));
  }
  T value{};
  FieldReader in;
  read_known(from, value, in);
  if (in.error()) {
    return Fact<T>::unknown(in_field(field, *in.error()), std::move(source));
  }
  return Fact<T>::known(std::move(value), std::move(source));
}

/// For facts that are one list of `items`.
template <class T, class WireFact, class ReadItem>
Fact<std::vector<T>> read_list(WireFact& from, std::string_view field, std::size_t limit, std::string_view what,
                               ReadItem read_item) {
  return read_fact<std::vector<T>>(from, field, [&](WireFact& fact, std::vector<T>& to, FieldReader& in) {
    in.items(fact.mutable_known()->mutable_items(), to, limit, what, read_item);
  });
}

Fact<std::string> read_text(v1::TextFact& from, std::string_view field);
/// The same with room for kMaxWireCommandLine bytes.
Fact<std::string> read_command_line(v1::TextFact& from, std::string_view field);
Fact<Time> read_time(v1::TimeFact& from, std::string_view field);
Fact<bool> read_bool(v1::BoolFact& from, std::string_view field);
Fact<ModuleFlavour> read_flavour(v1::TextFact& from, std::string_view field);

template <class T>
Fact<T> read_parsed(v1::TextFact& from, std::string_view field) {
  return read_fact<T>(from, field, [](v1::TextFact& fact, T& to, FieldReader& in) { in.parsed(fact.known(), to, ""); });
}

}  // namespace gpuskew::wire
