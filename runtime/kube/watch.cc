#include "runtime/kube/watch.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <utility>

#include "runtime/backoff.h"
#include "runtime/kube/client_state.h"
#include "runtime/kube/errors.h"
#include "runtime/kube/exchange.h"
#include "runtime/kube/json_text.h"
#include "runtime/kube/list.h"
#include "runtime/kube/path.h"
#include "runtime/kube/watch_lines.h"

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;

constexpr BackoffLimits kWatchBackoff{std::chrono::milliseconds(250), std::chrono::seconds(10)};
/// A watch or a list that lasted less is not worth an immediate next one.
constexpr Duration kShortWatch = std::chrono::seconds(1);
/// Of an answer that refuses the watch, this much is read.
constexpr std::size_t kMaxRefusalBytes = std::size_t{64} << 10;

}  // namespace

struct KubeWatch::State {
  State(KubeClientState of, KubeListRequest what, KubeWatchEvents tell, KubeWatchOptions with)
      : client(std::move(of)),
        request(std::move(what)),
        events(std::move(tell)),
        options(with),
        random(std::random_device{}()),
        backoff(kWatchBackoff, random) {
    request.is_consistent = true;  // a watch goes on from one moment
  }

  KubeClientState client;
  KubeListRequest request;
  KubeWatchEvents events;
  KubeWatchOptions options;
  std::minstd_rand random;
  Backoff backoff;
  std::string resource_version;  // "": the list is read anew
  std::optional<ErrorCode> trouble;
  std::size_t paths_missing = 0;  // in turn, since one was there

  void note_trouble(const Error& error) {
    if (trouble != error.code) {
      trouble = error.code;
      events.troubled(error);
    }
  }

  void note_running() {
    if (trouble) {
      trouble.reset();
      events.recovered();
    }
  }

  Duration wait_after(const Error& error) {
    return error.code == ErrorCode::NotFound ? options.missing_resource_wait : backoff.next();
  }

  /// Whether there is another path to ask at once.
  bool try_next_path(const Error& error) {
    if (error.code != ErrorCode::NotFound || options.other_paths.empty()) {
      return false;
    }
    std::swap(request.path, options.other_paths.front());
    std::rotate(options.other_paths.begin(), options.other_paths.begin() + 1, options.other_paths.end());
    paths_missing = (paths_missing + 1) % (options.other_paths.size() + 1);
    return paths_missing != 0;
  }

  KubeRequest watch_request(Duration timeout) const {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(timeout).count();
    return KubeRequest("GET", with_query(request.path, "watch=true&allowWatchBookmarks=true&resourceVersion=" +
                                                           query_escaped(resource_version) +
                                                           "&timeoutSeconds=" + std::to_string(seconds)));
  }

  Duration jittered_timeout() {
    std::uniform_int_distribution<Duration::rep> more(0, options.timeout.count());
    return options.timeout + Duration(more(random));
  }

  Result<void> take_line(std::string_view line);
  Result<void> take_error(const nlohmann::json& status);
};

namespace {

using WatchState = std::shared_ptr<KubeWatch::State>;

/// Whether a refusal leaves the place to go on from as it is. 504 does not: a server that was restored from a backup
/// waits in vain for versions it had before.
bool may_resume_after(unsigned status) {
  return status == 401 || status == 403 || status == 429 || status == 500 || status == 502 || status == 503;
}

/// Why the server does not start a watch.
asio::awaitable<Error> refusal_of(KubeClientState client, KubeRequest request, HttpConnection* connection,
                                  unsigned status, Deadline deadline) {
  RawReply raw;
  raw.status = status;
  while (raw.body.size() < kMaxRefusalBytes) {
    const Result<std::string> piece = co_await connection->read_body(deadline);
    if (!piece || piece->empty()) {
      break;
    }
    raw.body += *piece;
  }
  const KubeReply reply = parsed_reply(std::move(raw));
  co_return reply_error(client->access, request, reply, client->credentials->problem());
}

}  // namespace

/// The server has forgotten where we were, or can not go on: the list is read anew.
Result<void> KubeWatch::State::take_error(const nlohmann::json& status) {
  resource_version.clear();
  const auto code = status.find("code");
  if (code != status.end() && code->is_number() && code->get<int>() == 410) {
    return {};
  }
  return fail(ErrorCode::Internal, "the server ended the watch: " + shown_text(text_at(status, {"message"})));
}

Result<void> KubeWatch::State::take_line(std::string_view line) {
  auto event = parse_watch_line(line, request.keep_managed_fields);
  if (!event) {
    resource_version.clear();
    return tl::unexpected(event.error());
  }
  if (event->type == "ERROR") {
    return take_error(event->object);
  }
  std::string version = text_at(event->object, {"metadata", "resourceVersion"});
  if (event->type == "ADDED" || event->type == "MODIFIED") {
    events.changed(std::move(event->object));
  } else if (event->type == "DELETED") {
    events.deleted(std::move(event->object));
  } else if (event->type != "BOOKMARK") {
    resource_version.clear();
    return fail(ErrorCode::Malformed, "an event of type " + in_quotes(event->type));
  }
  if (!version.empty()) {
    resource_version = std::move(version);
  }
  return {};
}

namespace {

asio::awaitable<Result<void>> list_once(WatchState state) {
  state->events.list_began();
  const Result<KubeListResult> listed =
      co_await list_pages(state->client, state->request, state->events.changed, state->events.list_began, kNoDeadline);
  if (!listed) {
    co_return tl::unexpected(listed.error());
  }
  if (listed->resource_version.empty()) {
    co_return fail(ErrorCode::Malformed, server_name(state->client->access) + ": a list without resourceVersion");
  }
  state->resource_version = listed->resource_version;
  state->paths_missing = 0;
  state->events.list_ended();
  co_return Result<void>();
}

/// Until the watch ends: by the server (success), or by an error.
asio::awaitable<Result<void>> read_events(WatchState state, HttpConnection* connection, Deadline deadline) {
  WatchLines lines(kMaxWatchLineBytes);
  for (;;) {
    const Result<std::string> piece = co_await connection->read_body(deadline);
    if (!piece && piece.error().code == ErrorCode::Unreachable) {
      co_return Result<void>();  // cut; half a line counts for nothing. Whether the server is gone shows next.
    }
    if (!piece) {
      co_return fail("the watch is silent", piece.error());
    }
    if (piece->empty()) {
      co_return Result<void>();
    }
    Result<void> taken = lines.add(*piece);
    while (taken) {
      const std::optional<std::string_view> line = lines.next();
      if (!line) {
        break;
      }
      taken = state->take_line(*line);
      if (taken && state->resource_version.empty()) {
        co_return taken;
      }
    }
    if (!taken) {
      state->resource_version.clear();
      co_return taken;
    }
    state->backoff.reset();
  }
}

asio::awaitable<Result<void>> watch_once(WatchState state) {
  const KubeClientState client = state->client;
  const Result<void> fresh = client->credentials->refresh();
  if (!fresh) {
    co_return fail(server_name(client->access), fresh.error());
  }
  Result<std::unique_ptr<HttpConnection>> connection = co_await connect_to_server(client, kNoDeadline);
  if (!connection) {
    co_return tl::unexpected(connection.error());
  }
  const Duration timeout = state->jittered_timeout();
  const KubeRequest request = state->watch_request(timeout);
  const Deadline answer_by = request_end(*client, kNoDeadline);
  const Deadline end = Clock::now() + timeout + state->options.grace;
  // A write that fails is told by the read behind it.
  const Result<void> sent = co_await (*connection)->send(request_text(*client, request), answer_by);
  static_cast<void>(sent);
  const Result<const HttpReplyHead*> head = co_await (*connection)->read_head(answer_by);
  if (!head) {
    co_return tl::unexpected(exchange_error(client->access, request, head.error()));
  }
  client->has_answered = true;
  const unsigned status = (*head)->status;
  if (status != 200) {
    if (!may_resume_after(status)) {
      state->resource_version.clear();
    }
    if (status == 410) {
      co_return Result<void>();
    }
    const Error refused = co_await refusal_of(client, request, connection->get(), status, answer_by);
    if (status == 401 && client->credentials->renew()) {
      co_return Result<void>();
    }
    co_return tl::unexpected(refused);
  }
  state->note_running();
  const Result<void> ended = co_await read_events(state, connection->get(), end);
  if (!ended) {
    co_return tl::unexpected(exchange_error(client->access, request, ended.error()));
  }
  co_return Result<void>();
}

}  // namespace

KubeWatch::KubeWatch(KubeClient& client, KubeListRequest request, KubeWatchEvents events, KubeWatchOptions options)
    : state_(std::make_shared<State>(client.state(), std::move(request), std::move(events), options)) {}
KubeWatch::~KubeWatch() = default;

asio::awaitable<Result<void>> KubeWatch::run() {
  const auto state = state_;
  for (;;) {
    const Deadline began = Clock::now();
    Result<void> done;
    if (state->resource_version.empty()) {
      done = co_await list_once(state);
    }
    if (done) {
      done = co_await watch_once(state);
    }
    Duration wait = Duration::zero();
    if (!done && state->try_next_path(done.error())) {
      continue;
    }
    if (!done) {
      state->note_trouble(done.error());
      wait = state->wait_after(done.error());
    } else if (Clock::now() - began < kShortWatch) {
      wait = state->backoff.next();
    }
    if (wait > Duration::zero()) {
      co_await sleep_until(state->client->executor, Clock::now() + wait);
    }
  }
}

}  // namespace gpuskew
