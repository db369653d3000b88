#include "agent/probes/version_order.h"

#include <algorithm>

namespace gpuskew {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

template <class Kind>
std::string_view take_while(std::string_view& text, Kind kind) {
  std::size_t length = 0;
  while (length < text.size() && kind(text[length])) {
    ++length;
  }
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length);
  return taken;
}

// Of any length, so never turned into numbers.
int digits_order(std::string_view a, std::string_view b) {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) {
    return a.size() < b.size() ? -1 : 1;
  }
  return a.compare(b);
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

// 0: neither or both have it, which is taken off both. Else the order when only one has it.
int one_has(std::string_view& a, std::string_view& b, char c, int order_when_a_has, bool& both) {
  const bool in_a = take(a, c);
  const bool in_b = take(b, c);
  both = in_a && in_b;
  if (in_a == in_b) {
    return 0;
  }
  return in_a ? order_when_a_has : -order_when_a_has;
}

}  // namespace

int rpm_order(std::string_view a, std::string_view b) {
  const auto is_separator = [](char c) { return !is_digit(c) && !is_letter(c) && c != '~' && c != '^'; };
  while (!a.empty() || !b.empty()) {
    take_while(a, is_separator);
    take_while(b, is_separator);
    bool both = false;
    if (const int order = one_has(a, b, '~', -1, both); order != 0 || both) {
      if (both) {
        continue;
      }
      return order;
    }
    const bool caret_a = take(a, '^');
    const bool caret_b = take(b, '^');
    if (caret_a || caret_b) {
      if (caret_a && caret_b) {
        continue;
      }
      // A caret is newer than the end, and older than anything that goes on.
      if (caret_a) {
        return b.empty() ? 1 : -1;
      }
      return a.empty() ? -1 : 1;
    }
    if (a.empty() || b.empty()) {
      break;
    }
    const bool numeric = is_digit(a.front());
    const std::string_view part_a = numeric ? take_while(a, is_digit) : take_while(a, is_letter);
    const std::string_view part_b = numeric ? take_while(b, is_digit) : take_while(b, is_letter);
    if (part_b.empty()) {  // a number is newer than letters
      return numeric ? 1 : -1;
    }
    if (const int order = numeric ? digits_order(part_a, part_b) : part_a.compare(part_b); order != 0) {
      return order;
    }
  }
  if (a.empty() && b.empty()) {
    return 0;
  }
  return a.empty() ? -1 : 1;
}

int uapi_order(std::string_view a, std::string_view b) {
  const auto is_ignored = [](char c) {
    return !is_digit(c) && !is_letter(c) && c != '~' && c != '-' && c != '^' && c != '.';
  };
  for (;;) {
    take_while(a, is_ignored);
    take_while(b, is_ignored);
    bool both = false;
    if (const int order = one_has(a, b, '~', -1, both); order != 0) {
      return order;
    }
    if (both) {
      continue;
    }
    if (a.empty() || b.empty()) {
      return a.empty() && b.empty() ? 0 : (a.empty() ? -1 : 1);
    }
    for (const char separator : {'-', '^', '.'}) {
      if (const int order = one_has(a, b, separator, -1, both); order != 0) {
        return order;
      }
      if (both) {
        break;
      }
    }
    if (both) {
      continue;
    }
    const bool numeric = is_digit(a.front()) || is_digit(b.front());
    const std::string_view part_a = numeric ? take_while(a, is_digit) : take_while(a, is_letter);
    const std::string_view part_b = numeric ? take_while(b, is_digit) : take_while(b, is_letter);
    if (const int order = numeric ? digits_order(part_a, part_b) : part_a.compare(part_b); order != 0) {
      return order;
    }
  }
}

}  // namespace gpuskew
