#pragma once

// What a command says and how it ends; main alone prints and exits.

#include <cstdint>
#include <string>

namespace gpuskew {

enum class ExitCode : std::uint8_t {
  Fine = 0,
  Findings = 1,  ///< or a missing image
  NoAnswer = 2,  ///< could not answer, or only with something unknown in it; `err` says what
};

struct Answer {
  ExitCode exit = ExitCode::Fine;
  std::string out;
  std::string err;
};

/// "gpuskew: <what>" on standard error, nothing on standard output, exit code 2. `what` is made printable.
Answer no_answer(const std::string& what);

/// One line for standard error: "gpuskew: <what>".
std::string note_line(const std::string& what);

}  // namespace gpuskew
