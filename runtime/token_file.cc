#include "runtime/token_file.h"

#include <algorithm>
#include <string_view>

#include "runtime/file.h"

namespace gpuskew {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

}  // namespace

Result<std::string> load_token(const std::filesystem::path& file) {
  Result<std::string> text = read_file(file, kMaxTokenBytes);
  if (!text) {
    return text;
  }
  std::size_t first = text->find_first_not_of(kBlank);
  std::size_t last = text->find_last_not_of(kBlank);
  std::string token = first == std::string::npos ? "" : text->substr(first, last - first + 1);
  if (token.size() < kMinTokenBytes) {
    return fail(ErrorCode::Malformed, file.string() + ": the token has " + std::to_string(token.size()) +
                                          " characters, at least " + std::to_string(kMinTokenBytes) +
                                          " are needed: make one with `openssl rand -hex 32`");
  }
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; })) {
    return fail(ErrorCode::Malformed, file.string() + ": a token is one word of printable ASCII characters");
  }
  return token;
}

}  // namespace gpuskew
