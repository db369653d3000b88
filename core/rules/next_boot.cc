// What the next boot will bring.

#include "core/rules/rules.h"

namespace gpuskew::rules {

NextBoot next_boot(const Scene&) {
  return NextBoot{NextBootGpu::CannotTell, "not judged yet", std::nullopt};
}

std::optional<Finding> next_boot_loses(const Scene&) {
  return std::nullopt;
}

}  // namespace gpuskew::rules
