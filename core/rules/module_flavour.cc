// Which GPUs need the open modules, and which the proprietary ones.

#include "core/rules/rules.h"

namespace gpuskew::rules {

std::optional<Ruling> module_flavour(const Scene&) {
  return std::nullopt;
}

}  // namespace gpuskew::rules
