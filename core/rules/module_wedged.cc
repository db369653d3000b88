// An nvidia module that hangs while it loads or unloads: only a reboot takes it away.

#include "core/rules/rules.h"

namespace gpuskew::rules {

std::optional<Ruling> module_wedged(const Scene&) {
  return std::nullopt;
}

}  // namespace gpuskew::rules
