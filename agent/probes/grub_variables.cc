#include "agent/probes/grub_variables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace gpuskew {
namespace {

// grub's own, whose values depend on the machine.
bool is_of_the_machine(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames = {"root",      "cmdpath",  "grub_platform", "grub_cpu", "?",
                                                      "shim_lock", "lockdown", "superusers",    "chosen"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() || name.starts_with("feature_") ||
         name.starts_with("net_") || name.starts_with("pxe_");
}

GrubTruth truth(bool value) {
  return value ? GrubTruth::Yes : GrubTruth::No;
}

GrubTruth negated(GrubTruth value) {
  return value == GrubTruth::Unknown ? value : truth(value == GrubTruth::No);
}

class Test {
 public:
  Test(const std::vector<GrubValue>& arguments, const GrubFileTest& file_test)
      : arguments_(arguments), file_test_(file_test) {}

  GrubTruth outcome() {
    const GrubTruth value = either(0);
    return at_ == arguments_.size() ? value : GrubTruth::Unknown;
  }

 private:
  static constexpr int kMaxDepth = 16;

  bool take(std::string_view word) {
    if (at_ < arguments_.size() && arguments_[at_].is_known && arguments_[at_].text == word) {
      ++at_;
      return true;
    }
    return false;
  }

  GrubTruth either(int depth) {
    GrubTruth value = both(depth);
    while (take("-o")) {
      const GrubTruth other = both(depth);
      if (value == GrubTruth::Yes || other == GrubTruth::Yes) {
        value = GrubTruth::Yes;
      } else if (value == GrubTruth::Unknown || other == GrubTruth::Unknown) {
        value = GrubTruth::Unknown;
      }
    }
    return value;
  }

  GrubTruth both(int depth) {
    GrubTruth value = one(depth);
    while (take("-a")) {
      const GrubTruth other = one(depth);
      if (value == GrubTruth::No || other == GrubTruth::No) {
        value = GrubTruth::No;
      } else if (value == GrubTruth::Unknown || other == GrubTruth::Unknown) {
        value = GrubTruth::Unknown;
      }
    }
    return value;
  }

  GrubTruth one(int depth) {
    if (depth > kMaxDepth || at_ >= arguments_.size()) {
      return at_ >= arguments_.size() ? GrubTruth::No : GrubTruth::Unknown;
    }
    if (take("!")) {
      return negated(one(depth + 1));
    }
    if (take("(")) {
      const GrubTruth value = either(depth + 1);
      return take(")") ? value : GrubTruth::Unknown;
    }
    if (at_ + 2 < arguments_.size()) {
      if (const auto compared = comparison()) {
        return *compared;
      }
    }
    if (at_ + 1 < arguments_.size()) {
      if (const auto tested = unary()) {
        return *tested;
      }
    }
    const GrubValue& value = arguments_[at_++];
    return value.is_known ? truth(!value.text.empty()) : GrubTruth::Unknown;
  }

  std::optional<GrubTruth> comparison() {
    const GrubValue& left = arguments_[at_];
    const GrubValue& middle = arguments_[at_ + 1];
    const GrubValue& right = arguments_[at_ + 2];
    constexpr std::array<std::string_view, 13> kOperators = {
        "=", "==", "!=", "<", ">", "<=", ">=", "-eq", "-ne", "-lt", "-gt", "-le", "-ge"};
    if (!middle.is_known || std::find(kOperators.begin(), kOperators.end(), middle.text) == kOperators.end()) {
      return std::nullopt;
    }
    at_ += 3;
    if (!left.is_known || !right.is_known) {
      return GrubTruth::Unknown;
    }
    if (middle.text == "=" || middle.text == "==") {
      return truth(left.text == right.text);
    }
    if (middle.text == "!=") {
      return truth(left.text != right.text);
    }
    return middle.text.starts_with('-') ? numeric(left.text, middle.text, right.text) : GrubTruth::Unknown;
  }

  static GrubTruth numeric(std::string_view left, std::string_view compare, std::string_view right) {
    std::int64_t a = 0;
    std::int64_t b = 0;
    const auto [end_a, error_a] = std::from_chars(left.data(), left.data() + left.size(), a);
    const auto [end_b, error_b] = std::from_chars(right.data(), right.data() + right.size(), b);
    if (error_a != std::errc() || error_b != std::errc() || end_a != left.data() + left.size() ||
        end_b != right.data() + right.size()) {
      return GrubTruth::Unknown;
    }
    if (compare == "-eq" || compare == "-ne") {
      return truth((a == b) == (compare == "-eq"));
    }
    if (compare == "-lt" || compare == "-ge") {
      return truth((a < b) == (compare == "-lt"));
    }
    return truth((a > b) == (compare == "-gt"));
  }

  std::optional<GrubTruth> unary() {
    const GrubValue& kind = arguments_[at_];
    const GrubValue& value = arguments_[at_ + 1];
    if (!kind.is_known) {
      return std::nullopt;
    }
    if (kind.text == "-n" || kind.text == "-z") {
      at_ += 2;
      return value.is_known ? truth(value.text.empty() == (kind.text == "-z")) : GrubTruth::Unknown;
    }
    if (kind.text == "-s" || kind.text == "-f" || kind.text == "-e") {
      at_ += 2;
      return value.is_known ? file_test_(value.text) : GrubTruth::Unknown;
    }
    if (kind.text == "-d") {
      at_ += 2;
      return GrubTruth::Unknown;
    }
    return std::nullopt;
  }

  const std::vector<GrubValue>& arguments_;
  const GrubFileTest& file_test_;
  std::size_t at_ = 0;
};

}  // namespace

GrubVariables::GrubVariables(const std::string& directory, std::optional<bool> is_efi) {
  set("prefix", GrubValue{directory, true});
  set("config_directory", GrubValue{directory, true});
  // Every grub 2 since 2.00 has these.
  set("feature_menuentry_id", GrubValue{"y", true});
  set("feature_default_font_path", GrubValue{"y", true});
  if (is_efi) {
    set("grub_platform", GrubValue{*is_efi ? "efi" : "pc", true});
  }
}

GrubValue GrubVariables::get(std::string_view name) const {
  const auto found = values_.find(name);
  if (found != values_.end()) {
    return found->second;
  }
  return GrubValue{"", !others_unknown_ && !is_of_the_machine(name)};
}

void GrubVariables::set(std::string_view name, GrubValue value) {
  values_.insert_or_assign(std::string(name), std::move(value));
}

void GrubVariables::set_unknown(std::string_view name) {
  set(name, GrubValue{"", false});
}

void GrubVariables::lose_all() {
  others_unknown_ = true;
  for (auto& [name, value] : values_) {
    if (name != "prefix" && name != "config_directory" && !name.starts_with("feature_")) {
      value.is_known = false;
    }
  }
}

std::optional<GrubValue> GrubVariables::expand(const GrubWord& word) const {
  GrubValue value;
  bool is_word = false;
  for (const GrubWord::Part& part : word.parts) {
    if (!part.is_variable) {
      value.text += part.text;
      is_word = is_word || part.is_quoted || !part.text.empty();
      continue;
    }
    const GrubValue inner = get(part.text);
    value.text += inner.text;
    value.is_known = value.is_known && inner.is_known;
    is_word = is_word || part.is_quoted || !inner.text.empty() || !inner.is_known;
  }
  return is_word ? std::optional(std::move(value)) : std::nullopt;
}

GrubTruth grub_test(const std::vector<GrubValue>& arguments, const GrubFileTest& file_test) {
  return Test(arguments, file_test).outcome();
}

}  // namespace gpuskew
