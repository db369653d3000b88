#include "aggregator/cli/cluster_source.h"

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include <asio/co_spawn.hpp>
#include <nlohmann/json.hpp>

#include "aggregator/kube/node_json.h"
#include "runtime/clock.h"
#include "runtime/kube/access.h"
#include "runtime/kube/path.h"

namespace gpuskew {
namespace {

/// Runs `task` to its end; what else the client keeps going meanwhile (idle connections) is left where it is.
template <class T>
T wait_for(asio::io_context& context, asio::awaitable<T> task) {
  std::optional<T> outcome;
  std::exception_ptr bug;
  asio::co_spawn(context, std::move(task), [&](std::exception_ptr thrown, T value) {
    bug = std::move(thrown);
    outcome = std::move(value);
  });
  context.restart();
  while (!outcome) {
    context.run_one();
  }
  if (bug) {
    std::rethrow_exception(bug);
  }
  return std::move(*outcome);
}

/// Whether the server itself says that it has no such node, and not a server of another kind that it has no such page.
bool says_not_found(const KubeReply& reply) {
  constexpr unsigned kNotFound = 404;
  if (reply.status != kNotFound || !reply.body.is_object()) {
    return false;
  }
  const auto kind = reply.body.find("kind");
  return kind != reply.body.end() && kind->is_string() && kind->get_ref<const std::string&>() == "Status";
}

ErrorCode code_of(int status) {
  return status == 404 ? ErrorCode::NotFound : status == 409 ? ErrorCode::Unsupported : ErrorCode::Malformed;
}

}  // namespace

Result<std::unique_ptr<ClusterSource>> ClusterSource::open(const ClusterOptions& options, ClusterFleet fleet) {
  const auto files = options.is_one_file ? std::vector<std::filesystem::path>{options.kubeconfig}
                                         : kubeconfig_files(options.kubeconfig, options.home);
  Result<KubeAccess> access = kubeconfig_access(files, options.context);
  if (!access) {
    return tl::unexpected(access.error());
  }
  std::unique_ptr<ClusterSource> source(new ClusterSource(std::move(fleet)));
  KubeClientOptions client_options;
  client_options.user_agent = "gpuskew/" GPUSKEW_VERSION;
  auto client = KubeClient::open(source->context_.get_executor(), std::move(*access), client_options);
  if (!client) {
    return tl::unexpected(client.error());
  }
  source->client_ = std::move(*client);
  return source;
}

ClusterSource::~ClusterSource() = default;

Result<void> ClusterSource::load_all() {
  if (has_all_) {
    return {};
  }
  const Time now = wall_clock_now();
  std::optional<Error> odd;
  fleet_.clear();
  const auto take = [&](nlohmann::json&& object) {
    Result<ClusterNode> node = cluster_node_from_json(object);
    if (node) {
      fleet_.add(std::move(*node), now);
    } else {
      odd = node.error();
    }
  };
  const auto listed =
      wait_for(context_, client_->list(KubeListRequest("/api/v1/nodes"), take, [this] { fleet_.clear(); }));
  if (!listed) {
    return tl::unexpected(listed.error());
  }
  if (odd) {
    return fail(server() + "/api/v1/nodes", *odd);
  }
  has_all_ = true;
  return {};
}

tl::unexpected<Error> ClusterSource::not_there(const std::string& name) const {
  return fail(ErrorCode::NotFound, "no node " + name + " is in the cluster at " + server() + " (" +
                                       client_->access().source + "); gpuskew nodes lists those there are");
}

Result<void> ClusterSource::load_node(const std::string& name) {
  if (fleet_.has(name)) {
    return {};
  }
  if (has_all_) {
    return not_there(name);
  }
  const KubeRequest request("GET", "/api/v1/nodes/" + query_escaped(name));
  const auto reply = wait_for(context_, client_->send(request));
  if (!reply) {
    return tl::unexpected(reply.error());
  }
  if (says_not_found(*reply)) {
    return not_there(name);
  }
  if (!reply->is_success()) {
    return tl::unexpected(kube_error(*client_, request, *reply));
  }
  Result<ClusterNode> node = cluster_node_from_json(reply->body);
  if (!node || node->name != name) {
    return fail(ErrorCode::Malformed, server() + request.path +
                                          " answered with something else than that node; is it a "
                                          "Kubernetes API server?");
  }
  fleet_.add(std::move(*node), wall_clock_now());
  return {};
}

Result<nlohmann::ordered_json> ClusterSource::get(const Question& question) {
  if (question.topic != Topic::History) {
    const Result<void> loaded = question.node.empty() ? load_all() : load_node(question.node);
    if (!loaded) {
      return tl::unexpected(loaded.error());
    }
  }
  const HttpResponse response = fleet_.answer(question, wall_clock_now());
  auto json = nlohmann::ordered_json::parse(response.body);
  if (response.status != 200) {
    return fail(code_of(response.status), json.value("error", "no answer"));
  }
  return json;
}

}  // namespace gpuskew
