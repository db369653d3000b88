#pragma once

#include <string>

namespace gpuskew {

/// A program's command line asked for nothing that runs: help or version (code 0, for stdout), or a mistake (2, for
/// stderr).
struct CommandLineEnd {
  int code = 0;
  std::string text;
};

}  // namespace gpuskew
