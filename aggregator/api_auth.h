#pragma once

// Who may ask the API: whoever shows the token of the token file. Client certificates are the listener's business.

#include <optional>
#include <string>
#include <string_view>

#include "runtime/http_server.h"
#include "runtime/token_file.h"

namespace gpuskew {

/// The token of an "Authorization: Bearer TOKEN" header; nullopt without the header or in another form.
std::optional<std::string_view> bearer_token(const HttpRequest& request);

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
