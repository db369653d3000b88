// The kernel would not take the module file.

#include "core/rules/rules.h"

namespace gpuskew::rules {

std::optional<Refusal> refusal(const Scene&) {
  return std::nullopt;
}

std::optional<Ruling> module_rejected(const Scene&) {
  return std::nullopt;
}

}  // namespace gpuskew::rules
