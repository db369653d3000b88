#include "proto/wire_read.h"

#include <algorithm>
#include <array>
#include <limits>

namespace gpuskew::wire {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

bool is_hex(std::string_view text) {
  return text.find_first_not_of(kHex) == std::string_view::npos;
}

bool is_pci_address(std::string_view text) {
  constexpr std::size_t kShortestDomain = 4;
  constexpr std::size_t kLongestDomain = 8;
  const std::size_t domain = std::min(text.find_first_not_of(kHex), text.size());
  if (domain < kShortestDomain || domain > kLongestDomain) {
    return false;
  }
  text.remove_prefix(domain);
  return text.size() == 8 && text[0] == ':' && is_hex(text.substr(1, 2)) && text[3] == ':' &&
         is_hex(text.substr(4, 2)) && text[6] == '.' && text[7] >= '0' && text[7] <= '7';
}

std::optional<ModuleFlavour> flavour_from(std::string_view text) {
  for (const ModuleFlavour flavour : {ModuleFlavour::Proprietary, ModuleFlavour::Open}) {
    if (text == to_string(flavour)) {
      return flavour;
    }
  }
  return std::nullopt;
}

}  // namespace

void FieldReader::fail_with(ErrorCode code, std::string what) {
  if (!error_) {
    error_ = Error{code, std::move(what)};
  }
}

void FieldReader::fail_with(std::string_view field, const Error& why) {
  fail_with(why.code, field.empty() ? why.what : std::string(field) + ": " + why.what);
}

bool FieldReader::fits(const std::string& text, std::string_view field) {
  if (text.size() <= kMaxWireText) {
    return true;
  }
  fail_with(field, Error{ErrorCode::TooLarge, "longer than " + std::to_string(kMaxWireText) + " bytes"});
  return false;
}

bool FieldReader::check_count(std::size_t count, std::size_t limit, std::string_view what) {
  if (count > limit) {
    fail_with(ErrorCode::TooLarge,
              std::to_string(count) + " " + std::string(what) + ", at most " + std::to_string(limit) + " are taken");
  }
  return count <= limit;
}

void FieldReader::unknown_word(const std::string& word, std::string_view what) {
  fail_with(ErrorCode::Malformed, quoted_text(word) + " is no " + std::string(what) + " known here");
}

void FieldReader::text(std::string* from, std::string& to, std::string_view field, std::size_t limit) {
  if (std::optional<Error> wrong = text_error(*from, limit)) {
    fail_with(field, *wrong);
    return;
  }
  to = std::move(*from);
}

void FieldReader::prose(std::string* from, std::string& to, std::size_t limit) {
  to = take_shown_text(std::move(*from), limit);
}

void FieldReader::time(std::int64_t unix_ms, Time& to, std::string_view field) {
  if (unix_ms < 0 || unix_ms > kMaxUnixMs) {
    fail_with(field, Error{ErrorCode::Malformed, std::to_string(unix_ms) + " ms is not within 1970 to 9999"});
    return;
  }
  to = from_unix_ms(unix_ms);
}

void FieldReader::device_id(std::uint32_t from, std::uint16_t& to, std::string_view field) {
  if (from > std::numeric_limits<std::uint16_t>::max()) {
    fail_with(field, Error{ErrorCode::Malformed, "device id " + std::to_string(from) + " is over 65535"});
    return;
  }
  to = static_cast<std::uint16_t>(from);
}

void FieldReader::pci_address(std::string* from, std::string& to) {
  if (!is_pci_address(*from)) {
    fail_with(ErrorCode::Malformed, quoted_text(*from) + " is no PCI address");
    return;
  }
  to = std::move(*from);
}

std::string take_prose(std::string* text) {
  return take_shown_text(std::move(*text));
}

Error error_from(v1::Unknown& from) {
  constexpr std::array kCodes{ErrorCode::NotFound, ErrorCode::Denied,      ErrorCode::Malformed,   ErrorCode::TooLarge,
                              ErrorCode::Timeout,  ErrorCode::Unreachable, ErrorCode::Unsupported, ErrorCode::Internal};
  const auto* code = std::find_if(kCodes.begin(), kCodes.end(),
                                  [&from](ErrorCode candidate) { return to_string(candidate) == from.code(); });
  // A code of a later version is no reason to lose what it says.
  return Error{code == kCodes.end() ? ErrorCode::Internal : *code,
               from.because().empty() ? "the agent gives no reason" : take_prose(from.mutable_because())};
}

Error not_reported() {
  return Error{ErrorCode::Unsupported, "not reported by this agent"};
}

Error in_field(std::string_view field, const Error& why) {
  return Error{why.code, shown_text(std::string(field) + ": " + why.what)};
}

Fact<std::string> read_text(v1::TextFact& from, std::string_view field) {
  return read_fact<std::string>(
      from, field, [](v1::TextFact& fact, std::string& to, FieldReader& in) { in.text(fact.mutable_known(), to, ""); });
}

Fact<std::string> read_command_line(v1::TextFact& from, std::string_view field) {
  return read_fact<std::string>(from, field, [](v1::TextFact& fact, std::string& to, FieldReader& in) {
    in.text(fact.mutable_known(), to, "", kMaxWireCommandLine);
  });
}

Fact<Time> read_time(v1::TimeFact& from, std::string_view field) {
  return read_fact<Time>(from, field,
                         [](v1::TimeFact& fact, Time& to, FieldReader& in) { in.time(fact.known_unix_ms(), to, ""); });
}

Fact<bool> read_bool(v1::BoolFact& from, std::string_view field) {
  return read_fact<bool>(from, field, [](v1::BoolFact& fact, bool& to, FieldReader&) { to = fact.known(); });
}

Fact<ModuleFlavour> read_flavour(v1::TextFact& from, std::string_view field) {
  return read_fact<ModuleFlavour>(from, field, [](v1::TextFact& fact, ModuleFlavour& to, FieldReader& in) {
    in.word(fact.known(), to, &flavour_from, "module flavour");
  });
}

}  // namespace gpuskew::wire
