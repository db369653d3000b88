#pragma once

// A kind of object, kept up to date: LIST, then WATCH with bookmarks, resumed where it was cut; LISTed anew when the
// server has forgotten that point (410 Gone). Never ends by itself: what goes wrong is told and tried again.

#include <functional>
#include <string>

#include <asio/awaitable.hpp>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "runtime/kube/client.h"

namespace gpuskew {

/// Called on the client's io_context, never while another of them runs. Between list_began and list_ended every object
/// that exists is told by `changed`; one that is not told then is gone.
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
  /// `client` must outlive it. The server closes a watch after `kWatchTimeout` with jitter; that is no trouble.
  KubeWatch(KubeClient& client, KubeListRequest request, KubeWatchEvents events);
  ~KubeWatch();
  KubeWatch(const KubeWatch&) = delete;
  KubeWatch& operator=(const KubeWatch&) = delete;

  /// A resource that the server does not have (404 on the list) is told as trouble of code NotFound and asked for
  /// again once a minute: a CRD may come later. Ends only by cancellation.
  asio::awaitable<Result<void>> run();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

inline constexpr Duration kWatchTimeout = std::chrono::minutes(5);

}  // namespace gpuskew
