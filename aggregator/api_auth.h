#pragma once

// Who may ask the API: whoever shows the token of the token file. Client certificates are the listener's business.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "runtime/http_server.h"

namespace gpuskew {

/// A shorter token could be guessed.
inline constexpr std::size_t kMinTokenBytes = 16;
inline constexpr std::size_t kMaxTokenBytes = 4096;

/// The token in a file, blanks and line ends around it taken off. Errors: NotFound, Denied; Malformed (shorter than
/// kMinTokenBytes, more than one word, not printable ASCII); TooLarge.
Result<std::string> load_token(const std::filesystem::path& file);

class ApiAuth {
 public:
  /// nullopt: nobody is asked for a token.
  explicit ApiAuth(std::optional<std::string> token) : token_(std::move(token)) {}

  void set_token(std::optional<std::string> token) { token_ = std::move(token); }

  /// nullopt: go on. Otherwise the 401 to answer. Health checks need no token: /healthz and /readyz say nothing of
  /// the fleet. Takes the same time for every wrong token of one length.
  std::optional<HttpResponse> refuse(const HttpRequest& request) const;

 private:
  std::optional<std::string> token_;
};

}  // namespace gpuskew
