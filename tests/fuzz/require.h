#pragma once

#include <cstdlib>

namespace gpuskew::fuzz {

/// What must hold for every input; a fuzzer and the replay both take an abort for the find.
inline void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace gpuskew::fuzz
