#include "aggregator/cli/aggregator_url.h"

#include <memory>

#include <curl/curl.h>

namespace gpuskew {
namespace {

constexpr std::string_view kForm = " does not look like https://HOST:PORT";

struct UrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using UrlHandle = std::unique_ptr<CURLU, UrlDeleter>;

/// "" when the part is not there.
std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) {
    return {};
  }
  std::string copy(text);
  curl_free(text);
  return copy;
}

/// The text as an error may repeat it: whatever could be a user, a password or a token is left out.
std::string quotable(std::string_view text) {
  if (text.find('@') != std::string_view::npos) {
    return "the server's URL";
  }
  return "the server's URL " + std::string(text.substr(0, text.find_first_of("?#")));
}

std::string without_trailing_slashes(std::string text) {
  while (!text.empty() && text.back() == '/') {
    text.pop_back();
  }
  return text;
}

bool is_loopback(std::string_view host) {
  const bool address = host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
  return address || host == "localhost" || host == "[::1]";
}

}  // namespace

Result<AggregatorUrl> AggregatorUrl::parse(std::string_view text) {
  if (text.size() > kMaxLength) {
    return fail(ErrorCode::TooLarge, "the server's URL is longer than " + std::to_string(kMaxLength) + " bytes");
  }
  const UrlHandle url(curl_url());
  if (!url ||
      curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) {
    return fail(ErrorCode::Malformed, quotable(text) + std::string(kForm));
  }
  const std::string scheme = part_of(url.get(), CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") {
    return fail(ErrorCode::Malformed,
                quotable(text) + std::string(kForm) + ": it starts with neither http:// nor https://");
  }
  if (!part_of(url.get(), CURLUPART_QUERY).empty() || !part_of(url.get(), CURLUPART_FRAGMENT).empty()) {
    return fail(ErrorCode::Malformed, quotable(text) + std::string(kForm) + ": it may have neither '?' nor '#'");
  }
  AggregatorUrl server;
  server.base = without_trailing_slashes(part_of(url.get(), CURLUPART_URL));
  server.host = part_of(url.get(), CURLUPART_HOST);
  server.encrypted = scheme == "https";
  server.loopback = is_loopback(server.host);
  for (const CURLUPart secret : {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS}) {
    curl_url_set(url.get(), secret, nullptr, 0);
  }
  server.shown = without_trailing_slashes(part_of(url.get(), CURLUPART_URL));
  return server;
}

}  // namespace gpuskew
