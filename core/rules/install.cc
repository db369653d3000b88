// Two installers of one driver.

#include "core/rules/rules.h"

namespace gpuskew::rules {

std::optional<Finding> install_conflict(const Scene&) {
  return std::nullopt;
}

}  // namespace gpuskew::rules
