#include "aggregator/kube/lease.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gpuskew {

namespace {

using Json = nlohmann::json;

/// A stranger's promise is believed up to this.
constexpr Duration kMaxPromise = std::chrono::minutes(5);

const Json& member(const Json& object, const char* key) {
  static const Json kNothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return !object.is_object() || found == object.end() ? kNothing : *found;
}

/// Both numbers of a Lease are of 32 bits, and not negative; what is not, is taken for the nearest.
std::int64_t number(const Json& object, const char* key) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - 1;
  const Json& found = member(object, key);
  return found.is_number_integer() ? std::clamp<std::int64_t>(found.get<std::int64_t>(), 0, kMost) : 0;
}

/// metav1.MicroTime: six digits behind the point, always.
std::string micro_time(Time at) {
  constexpr std::int64_t kMs = 1000;
  std::string text = to_rfc3339(at);
  text.pop_back();
  return text + fmt::format(".{:03}000Z", to_unix_ms(at) % kMs);
}

}  // namespace

Result<LeaseRecord> lease_record(const Json& lease) {
  const Json& spec = member(lease, "spec");
  const Json& version = member(member(lease, "metadata"), "resourceVersion");
  if (!version.is_string() || version.get_ref<const std::string&>().empty()) {
    return fail(ErrorCode::Malformed, "a Lease without metadata.resourceVersion");
  }
  LeaseRecord record;
  record.version = version.get<std::string>();
  if (const Json& holder = member(spec, "holderIdentity"); holder.is_string()) {
    record.holder = holder.get<std::string>();
  }
  const std::int64_t longest = std::chrono::duration_cast<std::chrono::seconds>(kMaxPromise).count();
  record.promise = std::chrono::seconds(std::min(number(spec, "leaseDurationSeconds"), longest));
  record.changes = number(spec, "leaseTransitions");
  return record;
}

Json lease_body(const Json& now_there, std::string_view name_space, std::string_view name, std::string_view holder,
                Duration promise, Time now) {
  Json lease = now_there;
  if (!lease.is_object()) {
    lease = Json::object();
    lease["apiVersion"] = "coordination.k8s.io/v1";
    lease["kind"] = "Lease";
    lease["metadata"]["namespace"] = name_space;
    lease["metadata"]["name"] = name;
  }
  Json& spec = lease["spec"];
  if (!spec.is_object()) {
    spec = Json::object();
  }
  const Json& before = member(spec, "holderIdentity");
  const bool is_other = !before.is_string() || before.get_ref<const std::string&>() != holder;
  if (is_other && !holder.empty()) {
    spec["acquireTime"] = micro_time(now);
    spec["leaseTransitions"] = number(spec, "leaseTransitions") + (now_there.is_object() ? 1 : 0);
  }
  spec["holderIdentity"] = holder;
  spec["leaseDurationSeconds"] = std::chrono::ceil<std::chrono::seconds>(promise).count();
  spec["renewTime"] = micro_time(now);
  return lease;
}

std::string replica_identity() {
  // A pod's name, as container runtimes set it; what tells replicas apart are the random digits.
  const char* host = std::getenv("HOSTNAME");  // NOLINT(concurrency-mt-unsafe): nobody sets any
  std::random_device random;
  return fmt::format("{}_{:08x}", host == nullptr || *host == '\0' ? "gpuskew" : host, random());
}

}  // namespace gpuskew
