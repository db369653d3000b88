#include "aggregator/api_response.h"

#include <string>

#include <nlohmann/json.hpp>

#include "proto/json.h"

namespace gpuskew {

HttpResponse json_response(const nlohmann::ordered_json& body) {
  HttpResponse response;
  response.body = dump(body, false) + "\n";
  return response;
}

HttpResponse error_response(int status, std::string_view what) {
  nlohmann::ordered_json body;
  body["error"] = std::string(what);
  HttpResponse response = json_response(body);
  response.status = status;
  return response;
}

HttpResponse unknown_node(std::string_view name) {
  return error_response(404, "no node " + std::string(name) +
                                 " has reported; `gpuskew nodes` (GET /api/v1/nodes) lists those that have, and the "
                                 "log has a line \"refused agent\" for one that was turned away");
}

nlohmann::ordered_json matrix_json(const MatrixStatus& matrix) {
  nlohmann::ordered_json json;
  json["configured"] = matrix.configured;
  json["rows"] = matrix.rows;
  json["source"] = matrix.source;
  json["error"] = matrix.error ? nlohmann::ordered_json(*matrix.error) : nlohmann::ordered_json();
  return json;
}

HttpResponse text_response(int status, std::string_view body) {
  HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::string(body) + "\n";
  return response;
}

}  // namespace gpuskew
