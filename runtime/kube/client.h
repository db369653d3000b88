#pragma once

// The Kubernetes API: requests, paged lists, server-side apply. One client is one identity at one server; connections
// are kept and made anew as needed. For one io_context on one thread.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "core/time.h"
#include "runtime/kube/access.h"
#include "runtime/ready_socket.h"

namespace gpuskew {

struct KubeClientOptions {
  std::string user_agent = "gpuskew";
  /// For name, TCP, proxy and TLS together.
  Duration connect_timeout = std::chrono::seconds(5);
  /// For one request with its retries, unless its deadline is nearer.
  Duration request_timeout = std::chrono::seconds(30);
  /// 429 and 503 are tried again after Retry-After (at most this long at once) within the request's deadline.
  Duration max_retry_after = std::chrono::seconds(30);
  /// A server that has answered before and is gone is asked again for this long: it is being restarted.
  Duration restart_patience = std::chrono::seconds(15);
  /// Answers with an object's metadata alone (PartialObjectMetadata): a Node's is a tenth of it.
  bool metadata_only = false;
  /// Without one an access by exec plugin is refused (Unsupported).
  ExecRunner exec_runner;
};

/// Requests at the same time; more wait for their turn. Watches have connections of their own.
inline constexpr std::size_t kMaxKubeRequests = 16;
/// Kept for the next request, each for at most kIdleKubeConnectionTime.
inline constexpr std::size_t kMaxIdleKubeConnections = 4;
inline constexpr Duration kIdleKubeConnectionTime = std::chrono::seconds(60);

/// Of what a server said, this much is shown.
inline constexpr std::size_t kMaxShownReplyBytes = 300;

/// What the server said, whatever its status: a 409 or 422 is an answer some callers can use.
struct KubeReply {
  unsigned status = 0;
  nlohmann::json body;  ///< null when there is none; a Status object for an error
  std::string text;     ///< a body that is no JSON, made printable and cut after kMaxShownReplyBytes
  std::optional<std::chrono::seconds> retry_after;

  bool is_success() const { return status >= 200 && status < 300; }
};

/// `path` begins with '/', its segments escaped, with the query.
struct KubeRequest {
  KubeRequest(std::string verb, std::string to) : method(std::move(verb)), path(std::move(to)) {}

  std::string method;  ///< "GET", "POST", "PATCH", ...
  std::string path;
  std::string content_type;  ///< "" is application/json
  std::string body;
  /// May reach the server twice. GET, and PATCH by apply, always may.
  bool is_repeatable = false;
  /// 429 and 5xx with Retry-After are waited out. Not where 429 is the answer, as for evictions.
  bool waits_when_busy = true;
};

/// A list request; `path` without limit and continue.
struct KubeListRequest {
  explicit KubeListRequest(std::string to) : path(std::move(to)) {}

  std::string path;
  std::uint32_t page_size = 500;
  bool keep_managed_fields = false;  ///< they are half of a node's text; left out as they are parsed
  /// Every item as of one moment: a list whose continue token has expired begins anew. Else it may go on with the
  /// items as they are by then.
  bool is_consistent = false;
};

struct KubeListResult {
  std::string resource_version;  ///< of the whole list: where a watch goes on
  std::size_t items = 0;
  std::size_t pages = 0;
};

/// A field another manager owns, as the server's 409 names it.
struct KubeConflict {
  std::string manager;
  std::string field;  ///< ".metadata.labels.nvidia.com/gpu.present"

  bool operator==(const KubeConflict&) const = default;
};

/// Either the object as it is now, or what kept it as it was.
struct KubeApplied {
  nlohmann::json object;
  std::vector<KubeConflict> conflicts;
  /// The server's object has another version or uid than the one that was sent (or is gone): read it again.
  bool is_stale = false;
};

/// A reply longer than this is refused (TooLarge); a page of 500 nodes is some 3 MiB.
inline constexpr std::size_t kMaxKubeReplyBytes = std::size_t{64} << 20;

inline constexpr int kMaxListRestarts = 3;

class KubeClient {
 public:
  /// Reads the credentials' files, connects to nothing. Errors name the file.
  static Result<std::unique_ptr<KubeClient>> open(asio::any_io_executor executor, KubeAccess access,
                                                  KubeClientOptions options = {});
  ~KubeClient();
  KubeClient(const KubeClient&) = delete;
  KubeClient& operator=(const KubeClient&) = delete;

  const KubeAccess& access() const;

  /// One request. The Result's error is for no answer (Unreachable, Timeout, TooLarge, Malformed, Denied for TLS);
  /// a credential that was refused (401) is read anew and tried once more. Deadline: kNoDeadline leaves the options'.
  asio::awaitable<Result<KubeReply>> send(KubeRequest request, Deadline deadline = kNoDeadline);

  /// GET; every status but success is an error, a whole sentence: what, which server, what to do. 404 NotFound,
  /// 401 and 403 Denied (with the verb and the resource that RBAC refused), 410 and other statuses Internal.
  asio::awaitable<Result<nlohmann::json>> get(std::string path, Deadline deadline = kNoDeadline);

  /// Every item, page by page, each parsed and handed over by itself; the next page is on its way while one is parsed.
  /// A list whose continue token expired (410) goes on from the token that the server gives with it, unless it has to
  /// be consistent; else it begins anew after `restarted`, kMaxListRestarts times. `item` may keep what it is given.
  /// The deadline is the whole list's; each page has the options' request_timeout.
  asio::awaitable<Result<KubeListResult>> list(KubeListRequest request, std::function<void(nlohmann::json&&)> item,
                                               std::function<void()> restarted, Deadline deadline = kNoDeadline);

  /// Server-side apply (PATCH application/apply-patch+yaml). `force` takes fields from other managers.
  asio::awaitable<Result<KubeApplied>> apply(std::string path, nlohmann::json object, std::string field_manager,
                                             bool force, Deadline deadline = kNoDeadline);

  /// For the files beside this one.
  struct State;
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  explicit KubeClient(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// The error of a reply that is no success; see KubeClient::get().
Error kube_error(const KubeClient& client, const KubeRequest& request, const KubeReply& reply);

/// The conflicts that a Status of 409 names; none for another kind of conflict.
std::vector<KubeConflict> conflicts_of(const nlohmann::json& status);

/// Whether deleting a pod by eviction would be let through now: a dry run, nothing is evicted. The API's version
/// (policy/v1, or v1beta1 on servers before 1.22) is found out once.
struct EvictionAnswer {
  bool allowed = false;
  std::string reason;  ///< the server's words when it is not
};
asio::awaitable<Result<EvictionAnswer>> try_eviction(KubeClient& client, std::string name_space, std::string pod,
                                                     Deadline deadline = kNoDeadline);

}  // namespace gpuskew
