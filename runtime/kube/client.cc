#include "runtime/kube/client.h"

#include <algorithm>
#include <utility>

#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

#include "runtime/kube/client_state.h"
#include "runtime/kube/errors.h"
#include "runtime/kube/exchange.h"
#include "runtime/kube/json_text.h"
#include "runtime/kube/list.h"

namespace gpuskew {

KubeClient::KubeClient(std::shared_ptr<State> state) : state_(std::move(state)) {}
KubeClient::~KubeClient() = default;

namespace {

Result<void> prepare(KubeClient::State& state) {
  auto url = parse_server_url(state.access.server);
  if (!url) {
    return tl::unexpected(url.error());
  }
  state.url = std::move(*url);
  state.access.server = (state.url.is_tls ? "https://" : "http://") + to_string(state.url.address) + state.url.path;
  state.target.address = state.url.address;
  state.target.server_name =
      state.access.tls_server_name.empty() ? state.url.address.host : state.access.tls_server_name;
  if (!state.access.proxy_url.empty()) {
    auto proxy = parse_proxy_url(state.access.proxy_url);
    if (!proxy) {
      return tl::unexpected(proxy.error());
    }
    state.target.proxy = proxy->address;
    state.target.proxy_authorization = proxy->basic_authorization();
  }
  auto credentials = KubeCredentials::open(state.access, state.url.is_tls, state.options.exec_runner);
  if (!credentials) {
    return tl::unexpected(credentials.error());
  }
  state.credentials = std::move(*credentials);
  return {};
}

}  // namespace

Result<std::unique_ptr<KubeClient>> KubeClient::open(asio::any_io_executor executor, KubeAccess access,
                                                     KubeClientOptions options) {
  const std::string source = access.source;
  auto state = std::make_shared<State>(std::move(executor), std::move(access), std::move(options));
  if (auto prepared = prepare(*state); !prepared) {
    return fail(source, prepared.error());
  }
  return std::unique_ptr<KubeClient>(new KubeClient(std::move(state)));
}

const KubeAccess& KubeClient::access() const {
  return state_->access;
}

asio::awaitable<Result<KubeReply>> KubeClient::send(KubeRequest request, Deadline deadline) {
  Result<RawReply> raw = co_await fetch(state_, std::move(request), deadline, nullptr);
  if (!raw) {
    co_return tl::unexpected(raw.error());
  }
  co_return parsed_reply(std::move(*raw));
}

asio::awaitable<Result<nlohmann::json>> KubeClient::get(std::string path, Deadline deadline) {
  const auto state = state_;
  const KubeRequest request("GET", std::move(path));
  Result<RawReply> raw = co_await fetch(state, request, deadline, nullptr);
  if (!raw) {
    co_return tl::unexpected(raw.error());
  }
  KubeReply reply = parsed_reply(std::move(*raw));
  if (!reply.is_success() || !reply.body.is_object()) {
    co_return tl::unexpected(reply_error(state->access, request, reply, state->credentials->problem()));
  }
  co_return std::move(reply.body);
}

asio::awaitable<Result<KubeListResult>> KubeClient::list(KubeListRequest request,
                                                         std::function<void(nlohmann::json&&)> item,
                                                         std::function<void()> restarted, Deadline deadline) {
  return list_pages(state_, std::move(request), std::move(item), std::move(restarted), deadline);
}

Error kube_error(const KubeClient& client, const KubeRequest& request, const KubeReply& reply) {
  return reply_error(client.access(), request, reply, client.state()->credentials->problem());
}

}  // namespace gpuskew
