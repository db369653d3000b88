#pragma once

// One aggregator, asked over HTTP: blocking, one question at a time, one connection kept for all of them.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace gpuskew {

struct ServerOptions {
  std::string url = "http://127.0.0.1:7480";
  std::string ca;           ///< PEM file; "" is the system's
  std::string certificate;  ///< PEM files of this client; both or neither
  std::string key;
  std::string token_file;  ///< holds a bearer token; "" for none
};

class ApiClient {
 public:
  static constexpr std::chrono::seconds kConnectTimeout{3};
  static constexpr std::chrono::seconds kTotalTimeout{15};
  static constexpr std::size_t kMaxReplyBytes = 256u << 20;
  static constexpr std::size_t kMaxTokenBytes = 16u << 10;
  /// No reply of the API nests deeper than ten; printing one recurses.
  static constexpr int kMaxReplyDepth = 64;

  /// Reads the token and looks at every file named, so that a wrong path is told as that. Connects to nothing.
  static Result<ApiClient> open(const ServerOptions& options);

  ApiClient(ApiClient&& other) noexcept;
  ApiClient& operator=(ApiClient&& other) noexcept;
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;
  ~ApiClient();

  /// GET <server><path>, where path starts with '/', its segments escaped. Errors are whole sentences that say what to
  /// do and never hold a secret: Unreachable, Timeout, TooLarge, Malformed (no JSON), Denied (401, 403, TLS),
  /// NotFound (404), Unsupported (409), Internal (any other status).
  Result<nlohmann::ordered_json> get(const std::string& path);

  /// The server as it may be shown.
  const std::string& server() const;

 private:
  struct Connection;
  explicit ApiClient(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
};

}  // namespace gpuskew
