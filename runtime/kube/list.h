#pragma once

#include <functional>

#include <asio/awaitable.hpp>

#include "runtime/kube/client_state.h"

namespace gpuskew {

/// KubeClient::list().
asio::awaitable<Result<KubeListResult>> list_pages(KubeClientState state, KubeListRequest request,
                                                   std::function<void(nlohmann::json&&)> item,
                                                   std::function<void()> restarted, Deadline deadline);

}  // namespace gpuskew
