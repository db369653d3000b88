#include "runtime/kube/list.h"

#include <memory>
#include <string>
#include <utility>

#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

#include "runtime/kube/errors.h"
#include "runtime/kube/exchange.h"
#include "runtime/kube/json_text.h"
#include "runtime/kube/path.h"

namespace gpuskew {
namespace {

/// Items parsed before other work of the loop has its turn.
constexpr std::size_t kItemsATurn = 64;

KubeRequest page_request(const KubeListRequest& list, const std::string& token) {
  std::string query = "limit=" + std::to_string(list.page_size);
  if (!token.empty()) {
    query += "&continue=" + query_escaped(token);
  }
  return KubeRequest("GET", with_query(list.path, query));
}

/// The items of one page. `text` is only for them: it lives until this ends.
asio::awaitable<Result<std::size_t>> take_items(std::string_view items, bool keep_managed_fields,
                                                const std::function<void(nlohmann::json&&)>& item) {
  std::size_t taken = 0;
  for (;;) {
    const Result<std::optional<std::string_view>> text = next_item(items);
    if (!text) {
      co_return tl::unexpected(text.error());
    }
    if (!*text) {
      co_return taken;
    }
    Result<nlohmann::json> object = parse_object(**text, keep_managed_fields);
    if (!object) {
      co_return tl::unexpected(object.error());
    }
    item(std::move(*object));
    if (++taken % kItemsATurn == 0) {
      co_await asio::post(asio::use_awaitable);
    }
  }
}

/// Where a list goes on whose continue token has expired: the token that came with the refusal, or from its start.
std::string token_after_expiry(const KubeListRequest& request, const KubeReply& reply) {
  return request.is_consistent ? std::string() : text_at(reply.body, {"metadata", "continue"});
}

}  // namespace

asio::awaitable<Result<KubeListResult>> list_pages(KubeClientState state, KubeListRequest request,
                                                   std::function<void(nlohmann::json&&)> item,
                                                   std::function<void()> restarted, Deadline deadline) {
  KubeListResult result;
  std::string token;
  int restarts = 0;
  std::shared_ptr<StartedRequest> ahead;
  for (;;) {
    const KubeRequest asked = page_request(request, token);
    Result<RawReply> raw = co_await fetch(state, asked, deadline, std::move(ahead));
    if (!raw) {
      co_return tl::unexpected(raw.error());
    }
    if (!raw->is_success()) {
      const KubeReply reply = parsed_reply(std::move(*raw));
      if (reply.status != 410 || token.empty() || restarts == kMaxListRestarts) {
        co_return tl::unexpected(reply_error(state->access, asked, reply, state->credentials->problem()));
      }
      ++restarts;
      token = token_after_expiry(request, reply);
      if (token.empty()) {
        result = KubeListResult();
        restarted();
      }
      continue;
    }
    const std::string text = std::move(raw->body);
    const Result<KubeListPage> page = split_list_page(text);
    if (!page) {
      co_return tl::unexpected(exchange_error(state->access, asked, page.error()));
    }
    token = page->continue_token;
    if (!token.empty()) {
      // What fails here is tried again by the next fetch().
      Result<StartedRequest> next =
          co_await start_request(state, page_request(request, token), request_end(*state, deadline));
      ahead = next ? std::make_shared<StartedRequest>(std::move(*next)) : nullptr;
    }
    const Result<std::size_t> taken = co_await take_items(page->items, request.keep_managed_fields, item);
    if (!taken) {
      co_return tl::unexpected(exchange_error(state->access, asked, taken.error()));
    }
    result.items += *taken;
    ++result.pages;
    result.resource_version = page->resource_version;
    if (token.empty()) {
      co_return std::move(result);
    }
  }
}

}  // namespace gpuskew
