// gpuskew: what on-call types.

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "aggregator/cli/answer.h"
#include "aggregator/cli/command_line.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/screen.h"

namespace gpuskew {
namespace {

EnvVars environment() {
  EnvVars variables;
  for (const char* name : {"GPUSKEW_SERVER", "GPUSKEW_CA", "GPUSKEW_CERT", "GPUSKEW_KEY", "GPUSKEW_TOKEN_FILE",
                           "KUBECONFIG", "HOME", "NO_COLOR", "TERM"}) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    if (value != nullptr) {
      variables.emplace(name, value);
    }
  }
  return variables;
}

Answer answer_to(const std::vector<std::string>& arguments) {
  const EnvVars variables = environment();
  const auto parsed = parse_command_line(arguments, variables);
  if (const auto* answer = std::get_if<Answer>(&parsed)) {
    return *answer;
  }
  const auto& options = std::get<Options>(parsed);
  const Screen screen = screen_for(STDOUT_FILENO, options.color, variables);
  return run_command(options, screen, std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()));
}

/// The exit code: text that did not arrive is no answer.
int print(const Answer& answer) {
  std::fwrite(answer.err.data(), 1, answer.err.size(), stderr);
  const bool written = std::fwrite(answer.out.data(), 1, answer.out.size(), stdout) == answer.out.size();
  if (!written || std::fflush(stdout) != 0) {
    const std::string why = std::generic_category().message(errno);
    std::fprintf(stderr, "gpuskew: could not write standard output: %s\n", why.c_str());
    return static_cast<int>(ExitCode::NoAnswer);
  }
  return static_cast<int>(answer.exit);
}

}  // namespace
}  // namespace gpuskew

int main(int argc, char** argv) {
  // A server that hangs up is an error to report; a pager that is closed ends us, as it does every filter.
  std::signal(SIGPIPE, SIG_IGN);
  gpuskew::Answer answer;
  try {
    answer = gpuskew::answer_to(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::exception& error) {
    answer = gpuskew::no_answer(std::string("this is a bug in gpuskew: ") + error.what());
  }
  std::signal(SIGPIPE, SIG_DFL);
  return gpuskew::print(answer);
}
