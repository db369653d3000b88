#include "aggregator/api_auth.h"

#include <algorithm>

#include <fmt/format.h>
#include <openssl/crypto.h>

#include "aggregator/api_response.h"

namespace gpuskew {

namespace {

constexpr std::string_view kScheme = "Bearer ";

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

std::optional<std::string_view> bearer_token(const HttpRequest& request) {
  const std::optional<std::string_view> header = request.header("Authorization");
  return header && starts_with_scheme(*header) ? std::optional(header->substr(kScheme.size())) : std::nullopt;
}

std::optional<HttpResponse> ApiAuth::refuse(const HttpRequest& request) const {
  if (!token_ || request.path == "/healthz" || request.path == "/readyz") {
    return std::nullopt;
  }
  if (!request.header("Authorization")) {
    return unauthorized("no token was sent");
  }
  const std::optional<std::string_view> token = bearer_token(request);
  if (!token) {
    return unauthorized("the Authorization header is not of the form \"Bearer TOKEN\"");
  }
  if (!same_text(*token, *token_)) {
    return unauthorized("the token is not the right one");
  }
  return std::nullopt;
}

}  // namespace gpuskew
