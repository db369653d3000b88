#pragma once

// What went wrong between us and an API server, as one line: what, which server, what to do. Never a token.

#include <string>
#include <string_view>

#include "core/result.h"
#include "runtime/kube/client.h"

namespace gpuskew {

/// "API server https://10.0.0.1:6443 (/home/ops/.kube/config, context prod)".
std::string server_name(const KubeAccess& access);

/// No connection: `cause` is HttpConnection::connect()'s, `waited` what a Timeout had.
Error connect_error(const KubeAccess& access, const Error& cause, Duration waited);

/// The request was sent and no whole answer came.
Error exchange_error(const KubeAccess& access, const KubeRequest& request, const Error& cause);

/// An answer that is no success. `problem` is what is wrong with our credentials by our own account, or "".
Error reply_error(const KubeAccess& access, const KubeRequest& request, const KubeReply& reply,
                  std::string_view problem);

/// Text of others on one line, cut after kMaxShownReplyBytes.
std::string shown_text(std::string_view text);

}  // namespace gpuskew
