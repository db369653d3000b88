#include "runtime/kube/errors.h"

#include <array>

#include "runtime/kube/json_text.h"

namespace gpuskew {
namespace {

struct Hint {
  std::string_view cause;  // part of the cause's text
  std::string_view advice;
};

/// In this order: the first whose cause fits.
constexpr std::array kHints = {
    Hint{"unknown CA", "the certificate authority that we were given did not sign it: get the kubeconfig anew"},
    Hint{"for another name", "use a name or address that it is for, or set tls-server-name"},
    Hint{"certificate is expired", "renew the server's certificate"},
    Hint{"not valid yet", "check the clocks of both machines"},
    Hint{"speaks plain HTTP", "the URL should perhaps begin with http://"},
    Hint{"does not speak TLS", "check the address and the port"},
    Hint{"no such host", "check the name, the DNS and the VPN"},
    Hint{"no answer", "check the address, the firewall and the VPN"},
    Hint{"refused", "check that it runs, and the address and the port"},
};

std::string with_advice(std::string text) {
  for (const Hint& hint : kHints) {
    if (text.find(hint.cause) != std::string::npos) {
      return text + "; " + std::string(hint.advice);
    }
  }
  return text;
}

std::string path_of(const KubeRequest& request) {
  return request.path.substr(0, request.path.find('?'));
}

/// The server's own sentence.
std::string message_of(const KubeReply& reply) {
  const std::string message = text_at(reply.body, {"message"});
  return shown_text(message.empty() ? reply.text : message);
}

bool is_status(const KubeReply& reply) {
  return text_at(reply.body, {"kind"}) == "Status";
}

}  // namespace

std::string shown_text(std::string_view text) {
  std::string shown;
  for (const char character : text.substr(0, kMaxShownReplyBytes)) {
    const bool is_printable = character >= ' ' && character <= '~';
    shown += is_printable ? character : character == '\n' || character == '\t' ? ' ' : '?';
  }
  shown.resize(shown.find_last_not_of(' ') + 1);
  return shown + (text.size() > kMaxShownReplyBytes ? "..." : "");
}

std::string server_name(const KubeAccess& access) {
  return "API server " + access.server + " (" + access.source + ")";
}

Error connect_error(const KubeAccess& access, const Error& cause, Duration waited) {
  std::string what = cause.what;
  if (cause.code == ErrorCode::Timeout) {
    what = "no answer within " + to_short_text(waited);
  }
  return Error{cause.code, server_name(access) + ": " + with_advice(std::move(what))};
}

Error exchange_error(const KubeAccess& access, const KubeRequest& request, const Error& cause) {
  return Error{cause.code,
               server_name(access) + ": " + request.method + " " + path_of(request) + ": " + with_advice(cause.what)};
}

Error reply_error(const KubeAccess& access, const KubeRequest& request, const KubeReply& reply,
                  std::string_view problem) {
  const std::string server = server_name(access);
  const std::string status = std::to_string(reply.status);
  const std::string message = message_of(reply);
  const std::string own = problem.empty() ? "" : " (" + std::string(problem) + ")";
  if (reply.status == 401) {
    return Error{ErrorCode::Denied,
                 server +
                     ": does not know who we are (401): the token or client certificate has expired, was revoked, "
                     "or is of another cluster; log in again" +
                     own};
  }
  if (!is_status(reply) && reply.status != 429 && reply.status < 500) {
    return Error{ErrorCode::Malformed, server + ": does not answer as a Kubernetes API server: " + status + " to " +
                                           path_of(request) + (message.empty() ? "" : ", " + in_quotes(message)) +
                                           "; check the address"};
  }
  const std::string said = status + " " + (message.empty() ? "without a reason" : message);
  if (reply.status == 403) {
    return Error{ErrorCode::Denied, server + ": not allowed: " + (message.empty() ? said : message) +
                                        "; let an administrator grant it by a (Cluster)Role"};
  }
  if (reply.status == 404) {
    return Error{ErrorCode::NotFound, server + ": " + request.method + " " + path_of(request) + ": " + said};
  }
  return Error{ErrorCode::Internal, server + ": " + request.method + " " + path_of(request) + ": " + said};
}

}  // namespace gpuskew
