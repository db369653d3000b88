#include "aggregator/cli/answer.h"

#include "aggregator/cli/screen_text.h"

namespace gpuskew {

std::string note_line(const std::string& what) {
  return "gpuskew: " + printable(what) + "\n";
}

Answer no_answer(const std::string& what) {
  return Answer{ExitCode::NoAnswer, "", note_line(what)};
}

}  // namespace gpuskew
