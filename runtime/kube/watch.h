#pragma once

// A kind of object, kept up to date: LIST, then WATCH with bookmarks, resumed where it was cut; LISTed anew when the
// server has forgotten that point (410 Gone). Never ends by itself: what goes wrong is told and tried again.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "runtime/kube/client.h"

namespace gpuskew {

/// The server closes a watch after this and up to as long again; that is no trouble.
inline constexpr Duration kWatchTimeout = std::chrono::minutes(5);
/// A server that has not closed it this much later is silent: Timeout, and a new connection.
inline constexpr Duration kWatchGrace = std::chrono::seconds(30);
/// A resource that is not there (404) is asked for again after this.
inline constexpr Duration kMissingResourceWait = std::chrono::minutes(1);
/// One event; etcd takes objects of 1.5 MiB. A longer one is trouble (TooLarge), and the list is read anew.
inline constexpr std::size_t kMaxWatchLineBytes = std::size_t{8} << 20;

struct KubeWatchOptions {
  Duration timeout = kWatchTimeout;
  Duration grace = kWatchGrace;
  Duration missing_resource_wait = kMissingResourceWait;
  /// Asked in turn, and at once, where the server has not the resource (404): older versions of an API. Only when it
  /// has none of them is that trouble.
  std::vector<std::string> other_paths;
};

/// Called on the client's io_context, never while another of them runs. Between list_began and list_ended every object
/// that exists is told by `changed`; one that is not told then is gone. A list that failed half way is begun anew: what
/// was told since the last list_began does not count then.
struct KubeWatchEvents {
  std::function<void()> list_began;
  std::function<void()> list_ended;               ///< the picture is whole now
  std::function<void(nlohmann::json&&)> changed;  ///< added or modified
  std::function<void(nlohmann::json&&)> deleted;  ///< its last state
  std::function<void(const Error&)> troubled;     ///< no word from the server; told once for each kind of trouble
  std::function<void()> recovered;                ///< after trouble: the watch runs again
};

class KubeWatch {
 public:
  /// `client` must outlive it.
  KubeWatch(KubeClient& client, KubeListRequest request, KubeWatchEvents events, KubeWatchOptions options = {});
  ~KubeWatch();
  KubeWatch(const KubeWatch&) = delete;
  KubeWatch& operator=(const KubeWatch&) = delete;

  /// A resource that the server does not have (404 on the list) is told as trouble of code NotFound and asked for
  /// again once a minute: a CRD may come later. Ends only by cancellation.
  asio::awaitable<Result<void>> run();

  struct State;  ///< for watch.cc

 private:
  std::shared_ptr<State> state_;
};

}  // namespace gpuskew
