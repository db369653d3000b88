#include "aggregator/kube/leader_lease.h"

#include <utility>

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "aggregator/kube/lease.h"
#include "runtime/clock.h"
#include "runtime/log.h"

namespace gpuskew {

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kNotFound = 404;
constexpr unsigned kConflict = 409;

Duration moment() {
  return std::chrono::duration_cast<Duration>(Clock::now().time_since_epoch());
}

}  // namespace

LeaderLease::LeaderLease(asio::any_io_executor executor, KubeClient& client, std::string lease, std::string identity,
                         const Log& log, LeaderTimes times)
    : client_(client),
      name_space_(lease.substr(0, lease.find('/'))),
      name_(lease.substr(lease.find('/') + 1)),
      lease_(std::move(lease)),
      log_(log),
      election_(std::move(identity), times),
      timer_(std::move(executor)) {}

bool LeaderLease::leads() const {
  return election_.leads(moment());
}

Duration LeaderLease::leads_for() const {
  return election_.leads_for(moment());
}

asio::awaitable<Result<void>> LeaderLease::run() {
  while (!stopping_) {
    co_await round();
    if (stopping_) {
      break;
    }
    timer_.expires_after(election_.times().retry);
    asio::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_await give_back();
  co_return Result<void>();
}

void LeaderLease::stop() {
  stopping_ = true;
  timer_.cancel();
}

asio::awaitable<void> LeaderLease::round() {
  Result<void> done;
  // Who leads knows what is there from the last write; should that be wrong, the write is refused.
  if (!leads() || there_.is_null()) {
    done = co_await look();
  }
  if (!done) {
    note(done);
    tell();
    co_return;
  }
  std::optional<LeaseRecord> seen;
  if (!there_.is_null()) {
    seen = lease_record(there_).value_or(LeaseRecord{});
  }
  leader_ = seen ? seen->holder : "";
  const LeaseStep step = election_.look(seen, moment());
  if (step != LeaseStep::Wait) {
    std::string us = election_.identity();
    done = co_await write(step == LeaseStep::Create, std::move(us));
  }
  note(done);
  tell();
}

asio::awaitable<Result<void>> LeaderLease::look() {
  there_ = nullptr;
  const Deadline deadline = Clock::now() + kLeaseRequestTimeout;
  std::string path = "/apis/coordination.k8s.io/v1/namespaces/" + name_space_ + "/leases/" + name_;
  Result<nlohmann::json> lease = co_await client_.get(std::move(path), deadline);
  if (!lease) {
    if (lease.error().code == ErrorCode::NotFound) {
      co_return Result<void>();
    }
    co_return tl::unexpected(lease.error());
  }
  const Result<LeaseRecord> record = lease_record(*lease);
  if (!record) {
    co_return tl::unexpected(record.error());
  }
  there_ = std::move(*lease);
  co_return Result<void>();
}

asio::awaitable<Result<void>> LeaderLease::write(bool is_new, std::string holder) {
  const std::string all = "/apis/coordination.k8s.io/v1/namespaces/" + name_space_ + "/leases";
  KubeRequest request(is_new ? "POST" : "PUT", is_new ? all : all + "/" + name_);
  const nlohmann::json body =
      lease_body(there_, name_space_, name_, holder, election_.times().promise, wall_clock_now());
  request.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const Duration asked = moment();
  const Deadline deadline = Clock::now() + kLeaseRequestTimeout;
  Result<KubeReply> reply = co_await client_.send(request, deadline);
  there_ = nullptr;  // until the server said what is there now
  if (!reply) {
    co_return tl::unexpected(reply.error());
  }
  if (reply->status == kConflict) {
    co_return Result<void>();  // another replica was faster; the next look says who
  }
  if (!reply->is_success()) {
    const Error error = kube_error(client_, request, *reply);
    const bool no_namespace = is_new && reply->status == kNotFound;
    co_return no_namespace ? fail("does the namespace " + name_space_ + " exist?", error) : tl::unexpected(error);
  }
  if (lease_record(reply->body)) {
    there_ = std::move(reply->body);
  }
  if (holder == election_.identity()) {
    election_.wrote(asked);
    leader_ = holder;
  }
  co_return Result<void>();
}

asio::awaitable<void> LeaderLease::give_back() {
  if (!leads() || there_.is_null()) {
    co_return;
  }
  election_.lost();
  const Result<void> given = co_await write(false, "");
  if (given) {
    leader_.clear();
    log_.info("leadership given back", {{"lease", lease_}});
  } else {
    log_.warning("leadership could not be given back, the next replica leads when the Lease ends",
                 {{"lease", lease_}, {"reason", given.error().what}});
  }
}

void LeaderLease::tell() {
  const bool leads_now = leads();
  if (leads_now != told_leads_) {
    told_leads_ = leads_now;
    if (leads_now) {
      log_.info("this replica leads", {{"lease", lease_}, {"identity", election_.identity()}});
    } else {
      log_.warning("this replica leads no more", {{"lease", lease_}, {"identity", election_.identity()}});
    }
  }
  if (!leads_now && leader_ != told_leader_ && !leader_.empty() && leader_ != election_.identity()) {
    log_.info("another replica leads", {{"lease", lease_}, {"leader", leader_}});
  }
  told_leader_ = leader_;
}

void LeaderLease::note(const Result<void>& done) {
  if (done) {
    if (trouble_) {
      log_.info("the Lease can be used again", {{"lease", lease_}});
    }
    trouble_.reset();
    return;
  }
  if (trouble_ != done.error().code) {
    log_.warning("the Lease can not be used, this replica does not act without it",
                 {{"lease", lease_}, {"reason", done.error().what}});
  }
  trouble_ = done.error().code;
}

}  // namespace gpuskew
