#include "aggregator/cli/request_error.h"

#include <system_error>

#include <curl/curl.h>
#include <nlohmann/json.hpp>

#include "aggregator/cli/api_client.h"
#include "aggregator/cli/screen_text.h"

namespace gpuskew {
namespace {

// X509_V_ERR_*: the chain ends at an authority nobody here trusts.
bool is_unknown_authority(long verify_result) {
  return verify_result == 2 || (verify_result >= 18 && verify_result <= 21);
}

constexpr long kHostNameMismatch = 62;
constexpr long kExpired = 10;

bool mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string could_not_reach(const RequestContext& context, const std::string& why) {
  return "could not reach " + context.server + ": " + why;
}

Error certificate_error(const TransportFailure& failure, const RequestContext& context) {
  std::string why = failure.text;
  if (is_unknown_authority(failure.verify_result)) {
    why = context.has_ca ? "its certificate is not signed by the authority in --ca; is that the right file?"
                         : "its certificate is signed by an authority this machine does not know; name it with --ca "
                           "or GPUSKEW_CA";
  } else if (failure.verify_result == kHostNameMismatch || mentions(failure.text, "subject name")) {
    why = "its certificate is for another name; use the name it was issued for in --server";
  } else if (failure.verify_result == kExpired) {
    why = "its certificate has expired; renew it on the aggregator";
  }
  return Error{ErrorCode::Denied, could_not_reach(context, why)};
}

Error timeout_error(const TransportFailure& failure, const RequestContext& context) {
  if (failure.connect_seconds == 0) {
    return Error{ErrorCode::Timeout,
                 could_not_reach(context, "no connection within " + std::to_string(ApiClient::kConnectTimeout.count()) +
                                              " s; is the address right, and is a firewall in between?")};
  }
  return Error{ErrorCode::Timeout, context.server + " did not answer within " +
                                       std::to_string(ApiClient::kTotalTimeout.count()) + " s; its log may say why"};
}

Error refused_error(const TransportFailure& failure, const RequestContext& context) {
  const std::string why =
      failure.os_error == 0 ? failure.text : std::generic_category().message(static_cast<int>(failure.os_error));
  std::string lower = why;
  if (!lower.empty() && lower.front() >= 'A' && lower.front() <= 'Z') {
    lower.front() = static_cast<char>(lower.front() - 'A' + 'a');
  }
  return Error{ErrorCode::Unreachable,
               could_not_reach(context, lower + "; is gpuskew-aggregator running? Set --server or GPUSKEW_SERVER")};
}

/// The connection stood and then broke: most often one side speaks TLS and the other does not, or it wants to see a
/// certificate of ours.
Error broken_error(const TransportFailure& failure, const RequestContext& context) {
  if (!context.encrypted) {
    return Error{
        ErrorCode::Unreachable,
        could_not_reach(context, "it closed the connection without an answer; if it speaks TLS, use https://")};
  }
  if (mentions(failure.text, "wrong version number")) {
    return Error{ErrorCode::Unreachable, could_not_reach(context, "it does not speak TLS; use http://")};
  }
  if (!context.has_certificate && (mentions(failure.text, "certificate required") || mentions(failure.text, "alert") ||
                                   failure.code != CURLE_SSL_CONNECT_ERROR)) {
    return Error{ErrorCode::Denied, could_not_reach(context, "it ended the TLS connection (" + failure.text +
                                                                 "); if it wants a client certificate, set --cert "
                                                                 "and --key")};
  }
  const std::string guess = failure.code == CURLE_SSL_CONNECT_ERROR ? "; if it speaks no TLS, use http://" : "";
  return Error{ErrorCode::Denied, could_not_reach(context, "TLS failed: " + failure.text + guess)};
}

/// The text of {"error": "..."}; "" when the body is something else.
std::string server_message(const std::string& body) {
  constexpr std::size_t kMaxErrorBody = 64u << 10;
  if (body.size() > kMaxErrorBody) {
    return {};
  }
  const auto value = nlohmann::ordered_json::parse(body, nullptr, false);
  const auto error = value.is_object() ? value.find("error") : value.end();
  if (!value.is_object() || error == value.end() || !error->is_string()) {
    return {};
  }
  return printable(error->get_ref<const std::string&>().substr(0, kMaxServerMessage));
}

}  // namespace

Error transport_error(const TransportFailure& failure, const RequestContext& context) {
  switch (failure.code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return Error{ErrorCode::Unreachable,
                   could_not_reach(context, "its host name does not resolve; set --server or GPUSKEW_SERVER")};
    case CURLE_COULDNT_RESOLVE_PROXY:
      return Error{ErrorCode::Unreachable,
                   could_not_reach(context,
                                   "the proxy's host name does not resolve; see http_proxy, https_proxy and "
                                   "no_proxy in the environment")};
    case CURLE_COULDNT_CONNECT:
      return refused_error(failure, context);
    case CURLE_OPERATION_TIMEDOUT:
      return timeout_error(failure, context);
    case CURLE_PEER_FAILED_VERIFICATION:
      return certificate_error(failure, context);
    case CURLE_SSL_CACERT_BADFILE:
      return Error{ErrorCode::Malformed, "--ca holds no certificate that can be read (PEM)"};
    case CURLE_SSL_CERTPROBLEM:
      return Error{ErrorCode::Malformed, "--cert and --key are no certificate and key that belong together (PEM)"};
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return broken_error(failure, context);
    default:
      return Error{
          ErrorCode::Unreachable,
          could_not_reach(
              context, failure.text.empty() ? curl_easy_strerror(static_cast<CURLcode>(failure.code)) : failure.text)};
  }
}

Error status_error(long status, std::string_view path, const std::string& body, const RequestContext& context) {
  const std::string message = server_message(body);
  const std::string says = message.empty() ? "" : ": " + message;
  switch (status) {
    case 401:
      return Error{ErrorCode::Denied,
                   context.token_file.empty()
                       ? context.server + " asks who you are; set --token-file or GPUSKEW_TOKEN_FILE" + says
                       : context.server + " refused the token in " + context.token_file + says};
    case 403:
      return Error{ErrorCode::Denied, context.server + " refused: you may not ask for " + std::string(path) + says};
    case 404:
      return Error{ErrorCode::NotFound, message.empty() ? context.server + " has no " + std::string(path) +
                                                              "; is it a gpuskew-aggregator of this version?"
                                                        : message};
    case 409:
      return Error{ErrorCode::Unsupported, message.empty() ? context.server + " can not answer that now" : message};
    default:
      break;
  }
  if (status >= 300 && status < 400) {
    return Error{ErrorCode::Internal, context.server + " sends elsewhere (HTTP " + std::to_string(status) +
                                          "); set --server to the aggregator's own URL"};
  }
  return Error{ErrorCode::Internal, context.server + " could not answer (HTTP " + std::to_string(status) + ")" +
                                        (message.empty() ? "; its log says why" : says)};
}

}  // namespace gpuskew
