#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "aggregator/matrix_file.h"
#include "runtime/http_server.h"

namespace gpuskew {

HttpResponse json_response(const nlohmann::ordered_json& body);
/// {"error": what}: what is wrong, and what to do.
HttpResponse error_response(int status, std::string_view what);
/// 404 for a node that never reported.
HttpResponse unknown_node(std::string_view name);
/// {"configured","rows","source","error"}
nlohmann::ordered_json matrix_json(const MatrixStatus& matrix);
HttpResponse text_response(int status, std::string_view body);

}  // namespace gpuskew
