#include "aggregator/cli/api_client.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <curl/curl.h>
#include <nlohmann/json.hpp>

#include "aggregator/cli/aggregator_url.h"
#include "aggregator/cli/request_error.h"

namespace gpuskew {
namespace {

using nlohmann::ordered_json;

struct CurlDeleter {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FileHandle = std::unique_ptr<std::FILE, FileCloser>;

std::string reason_of(int error) {
  return std::generic_category().message(error);
}

/// The file's content, at most `limit` bytes of it. `option` names the flag it came from.
Result<std::string> read_file(std::string_view option, const std::string& path, std::size_t limit) {
  const std::string what = std::string(option) + " " + path;
  const FileHandle file(std::fopen(path.c_str(), "re"));
  if (!file) {
    return fail(ErrorCode::NotFound, "could not read " + what + ": " + reason_of(errno));
  }
  std::string content(limit + 1, '\0');
  content.resize(std::fread(content.data(), 1, content.size(), file.get()));
  if (std::ferror(file.get()) != 0) {
    return fail(ErrorCode::Internal, "could not read " + what + ": " + reason_of(errno));
  }
  if (content.size() > limit) {
    return fail(ErrorCode::TooLarge, what + " is larger than " + std::to_string(limit) + " bytes");
  }
  return content;
}

/// The token alone. One that could end the header it is sent in is refused.
Result<std::string> read_token(const std::string& path) {
  Result<std::string> content = read_file("--token-file", path, ApiClient::kMaxTokenBytes);
  if (!content) {
    return content;
  }
  const std::size_t end = content->find_last_not_of(" \t\r\n");
  content->resize(end == std::string::npos ? 0 : end + 1);
  if (content->empty()) {
    return fail(ErrorCode::Malformed, "--token-file " + path + " is empty");
  }
  for (const char c : *content) {
    if (c <= ' ' || c > '~') {
      return fail(ErrorCode::Malformed, "--token-file " + path + " does not hold one token on one line");
    }
  }
  return content;
}

Result<bool> check_files(const ServerOptions& options) {
  if (options.certificate.empty() != options.key.empty()) {
    return fail(ErrorCode::Malformed, options.key.empty() ? "--cert is given without --key: set both"
                                                          : "--key is given without --cert: set both");
  }
  constexpr std::size_t kMaxPemBytes = 1u << 20;
  const std::array<std::pair<std::string_view, const std::string*>, 3> files = {
      {{"--ca", &options.ca}, {"--cert", &options.certificate}, {"--key", &options.key}}};
  for (const auto& [option, path] : files) {
    if (path->empty()) {
      continue;
    }
    if (const Result<std::string> content = read_file(option, *path, kMaxPemBytes); !content) {
      return tl::unexpected(content.error());
    }
  }
  return true;
}

struct Body {
  std::string bytes;
  bool too_large = false;
};

// NOLINTNEXTLINE(readability-non-const-parameter): libcurl's signature
std::size_t take_bytes(char* data, std::size_t size, std::size_t count, void* to) {
  auto& body = *static_cast<Body*>(to);
  const std::size_t bytes = size * count;
  if (bytes > ApiClient::kMaxReplyBytes - body.bytes.size()) {
    body.too_large = true;
    return 0;
  }
  body.bytes.append(data, bytes);
  return bytes;
}

void set_limits(CURL* curl) {
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   long{std::chrono::milliseconds(ApiClient::kConnectTimeout).count()});
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, long{std::chrono::milliseconds(ApiClient::kTotalTimeout).count()});
  curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, curl_off_t{ApiClient::kMaxReplyBytes});
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "gpuskew/" GPUSKEW_VERSION);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
}

void set_peer(CURL* curl, const ServerOptions& options, const AggregatorUrl& server) {
  curl_easy_setopt(curl, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  if (server.loopback) {
    // A proxy of the environment has no way to this machine's own loopback.
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
  }
  if (!options.ca.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, options.ca.c_str());
    curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
  }
  if (!options.certificate.empty()) {
    curl_easy_setopt(curl, CURLOPT_SSLCERT, options.certificate.c_str());
    curl_easy_setopt(curl, CURLOPT_SSLKEY, options.key.c_str());
  }
}

/// A token leaves this machine encrypted or not at all.
Result<std::vector<std::string>> headers_for(const ServerOptions& options, const AggregatorUrl& server) {
  std::vector<std::string> headers = {"Accept: application/json"};
  if (options.token_file.empty()) {
    return headers;
  }
  if (!server.encrypted && !server.loopback) {
    return fail(ErrorCode::Denied,
                "the token is not sent over plain HTTP to " + server.shown + "; use an https:// URL");
  }
  const Result<std::string> token = read_token(options.token_file);
  if (!token) {
    return tl::unexpected(token.error());
  }
  headers.push_back("Authorization: Bearer " + *token);
  return headers;
}

/// Whether brackets nest deeper than any reply of the API, in one pass: the parser's own callback for it makes parsing
/// twice as slow.
bool nests_too_deep(std::string_view json) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      i += c == '\\' ? 1 : 0;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      if (++depth > ApiClient::kMaxReplyDepth) {
        return true;
      }
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

Result<ordered_json> parse_json(const std::string& text, const std::string& url) {
  ordered_json value =
      nests_too_deep(text) ? ordered_json(ordered_json::value_t::discarded) : ordered_json::parse(text, nullptr, false);
  if (value.is_discarded()) {
    return fail(ErrorCode::Malformed, url + " answered with something that is not JSON; is it a gpuskew-aggregator?");
  }
  return value;
}

}  // namespace

struct ApiClient::Connection {
  AggregatorUrl server;
  RequestContext context;
  std::unique_ptr<CURL, CurlDeleter> curl;
  std::unique_ptr<curl_slist, CurlDeleter> headers;
  std::array<char, CURL_ERROR_SIZE> error_text{};
};

ApiClient::ApiClient(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
ApiClient::ApiClient(ApiClient&& other) noexcept = default;
ApiClient& ApiClient::operator=(ApiClient&& other) noexcept = default;
ApiClient::~ApiClient() = default;

const std::string& ApiClient::server() const {
  return connection_->server.shown;
}

Result<ApiClient> ApiClient::open(const ServerOptions& options) {
  Result<AggregatorUrl> server = AggregatorUrl::parse(options.url);
  if (!server) {
    return fail(server.error().code, server.error().what + "; set --server or GPUSKEW_SERVER");
  }
  if (const Result<bool> readable = check_files(options); !readable) {
    return tl::unexpected(readable.error());
  }
  Result<std::vector<std::string>> headers = headers_for(options, *server);
  if (!headers) {
    return tl::unexpected(headers.error());
  }
  auto connection = std::make_unique<Connection>();
  connection->context = {server->shown, server->encrypted, options.token_file, !options.certificate.empty(),
                         !options.ca.empty()};
  connection->server = std::move(*server);
  connection->curl.reset(curl_easy_init());
  for (const std::string& header : *headers) {
    curl_slist* longer = curl_slist_append(connection->headers.get(), header.c_str());
    if (longer != nullptr) {
      static_cast<void>(connection->headers.release());
    }
    connection->headers.reset(longer);
  }
  if (!connection->curl || !connection->headers) {
    return fail(ErrorCode::Internal, "libcurl could not be started");
  }
  set_limits(connection->curl.get());
  set_peer(connection->curl.get(), options, connection->server);
  curl_easy_setopt(connection->curl.get(), CURLOPT_HTTPHEADER, connection->headers.get());
  curl_easy_setopt(connection->curl.get(), CURLOPT_ERRORBUFFER, connection->error_text.data());
  return ApiClient(std::move(connection));
}

Result<ordered_json> ApiClient::get(const std::string& path) {
  CURL* curl = connection_->curl.get();
  Body body;
  const std::string url = connection_->server.base + path;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
  connection_->error_text.front() = '\0';
  const CURLcode code = curl_easy_perform(curl);
  const std::string shown = connection_->server.shown + path;
  if (body.too_large || code == CURLE_FILESIZE_EXCEEDED) {
    return fail(ErrorCode::TooLarge,
                shown + " answered with more than " + std::to_string(kMaxReplyBytes >> 20U) + " MiB; giving up");
  }
  if (code != CURLE_OK) {
    TransportFailure failure;
    failure.code = code;
    failure.text = connection_->error_text.data();
    curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &failure.os_error);
    curl_easy_getinfo(curl, CURLINFO_SSL_VERIFYRESULT, &failure.verify_result);
    curl_easy_getinfo(curl, CURLINFO_CONNECT_TIME, &failure.connect_seconds);
    return tl::unexpected(transport_error(failure, connection_->context));
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) {
    return tl::unexpected(status_error(status, path, body.bytes, connection_->context));
  }
  return parse_json(body.bytes, shown);
}

}  // namespace gpuskew
