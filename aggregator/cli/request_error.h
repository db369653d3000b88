#pragma once

// What went wrong between us and the aggregator, as one sentence that says what to do.

#include <string>
#include <string_view>

#include "core/result.h"

namespace gpuskew {

/// What was asked of whom, without any secret.
struct RequestContext {
  std::string server;      ///< the URL as shown
  bool encrypted = false;  ///< https
  std::string token_file;  ///< "" when no token was sent
  bool has_certificate = false;
  bool has_ca = false;
};

/// libcurl's account of a request that got no answer.
struct TransportFailure {
  int code = 0;                ///< CURLcode
  std::string text;            ///< CURLOPT_ERRORBUFFER
  long os_error = 0;           ///< CURLINFO_OS_ERRNO
  long verify_result = 0;      ///< CURLINFO_SSL_VERIFYRESULT: an X509_V_ERR
  double connect_seconds = 0;  ///< 0: no connection was made
};

Error transport_error(const TransportFailure& failure, const RequestContext& context);

/// For an answer other than 200. `body` may be anything; {"error": text} is passed on, cut at kMaxServerMessage.
inline constexpr std::size_t kMaxServerMessage = 1000;
Error status_error(long status, std::string_view path, const std::string& body, const RequestContext& context);

}  // namespace gpuskew
