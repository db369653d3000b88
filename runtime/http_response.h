#pragma once

// The first part of an HTTP/1.1 answer.

#include <ctime>
#include <string>

#include "runtime/http_request.h"
#include "runtime/http_server.h"

namespace gpuskew {

/// Status line and headers, with the empty line that ends them. Control characters in a header's value become blanks.
std::string head_of(const HttpResponse& response, bool keep_alive, std::time_t now);

/// {"error": why}. `why` is our own text, without quotes or control characters.
HttpResponse refusal_response(const HttpRefusal& refusal);

}  // namespace gpuskew
