#include "aggregator/api_auth.h"

#include <algorithm>

#include <fmt/format.h>
#include <openssl/crypto.h>

#include "aggregator/api_response.h"
#include "runtime/file.h"

namespace gpuskew {

namespace {

constexpr std::string_view kScheme = "Bearer ";
constexpr std::string_view kBlank = " \t\r\n";

bool same_text(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool starts_with_scheme(std::string_view header) {
  return header.size() > kScheme.size() && std::equal(kScheme.begin(), kScheme.end(), header.begin(),
                                                      [](char a, char b) { return (a | 0x20) == (b | 0x20); });
}

HttpResponse unauthorized(const char* why) {
  HttpResponse response = error_response(
      401, fmt::format("{}; send the token of api.token_file as \"Authorization: Bearer TOKEN\" (gpuskew --token-file)",
                       why));
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"gpuskew\"");
  return response;
}

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
    return fail(ErrorCode::Malformed, fmt::format("{}: the token has {} characters, at least {} are needed: make one "
                                                  "with `openssl rand -hex 32`",
                                                  file.string(), token.size(), kMinTokenBytes));
  }
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; })) {
    return fail(ErrorCode::Malformed,
                fmt::format("{}: a token is one word of printable ASCII characters", file.string()));
  }
  return token;
}

std::optional<HttpResponse> ApiAuth::refuse(const HttpRequest& request) const {
  if (!token_ || request.path == "/healthz" || request.path == "/readyz") {
    return std::nullopt;
  }
  std::optional<std::string_view> header = request.header("Authorization");
  if (!header) {
    return unauthorized("no token was sent");
  }
  if (!starts_with_scheme(*header)) {
    return unauthorized("the Authorization header is not of the form \"Bearer TOKEN\"");
  }
  std::string_view token = header->substr(kScheme.size());
  if (!same_text(token, *token_)) {
    return unauthorized("the token is not the right one");
  }
  return std::nullopt;
}

}  // namespace gpuskew
