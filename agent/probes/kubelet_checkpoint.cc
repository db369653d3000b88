// Both files are read as a stream of JSON events: with many pods the checkpoint has most of a megabyte, nearly all of
// it answers of device plugins that are of no interest here.

#include "agent/probes/kubelet_checkpoint.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

namespace gpuskew {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxName = 253;  // what Kubernetes itself allows
constexpr std::string_view kItem = "[]";

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

/// Knows where in the document it is: the keys from the root, "[]" for an item of a list.
class Walk : public Json::json_sax_t {
 public:
  /// What was wrong, after through() returned false.
  Error error() const { return error_.value_or(Error{ErrorCode::Malformed, "not JSON"}); }

  bool through(std::istream& file) { return Json::sax_parse(file, static_cast<Json::json_sax_t*>(this)); }

 protected:
  virtual void at_key() {}
  virtual void at_string(std::string&) {}
  virtual void at_object_end() {}

  const std::vector<std::string>& path() const { return path_; }
  bool is_at(std::size_t depth, std::string_view key) const { return depth < path_.size() && path_[depth] == key; }
  void refuse(ErrorCode code, std::string what) { error_ = Error{code, std::move(what)}; }

 private:
  bool good() const { return !error_; }
  bool enter(std::string_view key) {
    if (path_.size() == kMaxDepth) {
      refuse(ErrorCode::Malformed, "nested more than " + std::to_string(kMaxDepth) + " deep");
      return false;
    }
    path_.emplace_back(key);
    return true;
  }

  bool null() override { return good(); }
  bool boolean(bool) override { return good(); }
  bool number_integer(number_integer_t) override { return good(); }
  bool number_unsigned(number_unsigned_t) override { return good(); }
  bool number_float(number_float_t, const string_t&) override { return good(); }
  bool binary(binary_t&) override { return good(); }
  bool string(string_t& value) override {
    at_string(value);
    return good();
  }
  bool start_object(std::size_t) override { return enter(""); }
  bool start_array(std::size_t) override { return enter(kItem); }
  bool key(string_t& name) override {
    path_.back() = name;
    at_key();
    return good();
  }
  bool end_object() override {
    path_.pop_back();
    at_object_end();
    return good();
  }
  bool end_array() override {
    path_.pop_back();
    return good();
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    refuse(ErrorCode::Malformed, "not JSON, or cut short, at byte " + std::to_string(position));
    return false;
  }

  std::vector<std::string> path_;
  std::optional<Error> error_;
};

// {"Data": {"PodDeviceEntries": [{"PodUID", "ContainerName", "ResourceName", "DeviceIDs", ...}],
//           "RegisteredDevices": {"nvidia.com/gpu": ["GPU-..."]}}, "Checksum": 1}
class CheckpointWalk : public Walk {
 public:
  bool has_data() const { return has_data_; }
  KubeletGrants grants;

 private:
  bool is_in_entry() const { return is_at(0, "Data") && is_at(1, "PodDeviceEntries") && is_at(2, kItem); }
  bool is_in_registered() const { return is_at(0, "Data") && is_at(1, "RegisteredDevices"); }

  void at_key() override {
    if (is_in_registered() && path().size() == 3) {
      end_resource();
      resource_.name = path().back();
    }
  }

  void at_string(std::string& value) override {
    if (is_in_registered() && path().size() == 4 && is_at(3, kItem)) {
      ++resource_.devices;
      is_nvidia_ = is_nvidia_ || is_nvidia_device(value);
    } else if (is_in_entry() && path().size() == 4) {
      take_field(path()[3], value);
    } else if (is_in_entry() && is_at(3, "DeviceIDs") && path().back() == kItem) {
      ++entry_.devices;
      is_nvidia_ = is_nvidia_ || is_nvidia_device(value);
    }
  }

  void take_field(const std::string& key, std::string& value) {
    if (key == "PodUID") {
      entry_.pod_uid = std::move(value);
    } else if (key == "ContainerName") {
      entry_.container = std::move(value);
    } else if (key == "ResourceName") {
      entry_.resource = std::move(value);
    }
  }

  void at_object_end() override {
    if (is_in_entry() && path().size() == 3) {
      end_entry();
    } else if (is_in_registered() && path().size() == 2) {
      end_resource();
    }
    has_data_ = has_data_ || (is_at(0, "Data") && path().size() == 1);
  }

  static bool is_nvidia_device(std::string_view id) { return id.starts_with("GPU-") || id.starts_with("MIG-"); }
  static bool is_nvidia_resource(std::string_view name) { return name.starts_with("nvidia.com/"); }

  void end_entry() {
    PodDevices entry = std::exchange(entry_, {});
    const bool ours = std::exchange(is_nvidia_, false) || is_nvidia_resource(entry.resource);
    if (!ours) {
      return;
    }
    if (!is_name(entry.pod_uid) || !is_name(entry.container) || !is_name(entry.resource)) {
      refuse(ErrorCode::Malformed, "an entry that does not say which container of which pod has what");
    } else if (grants.pods.size() == kMaxGrants) {
      refuse(ErrorCode::TooLarge, "more than " + std::to_string(kMaxGrants) + " containers with devices");
    } else {
      grants.pods.push_back(std::move(entry));
    }
  }

  void end_resource() {
    PluginResource resource = std::exchange(resource_, {});
    const bool ours = std::exchange(is_nvidia_, false) || is_nvidia_resource(resource.name);
    if (!ours) {
      return;
    }
    if (!is_name(resource.name)) {
      refuse(ErrorCode::Malformed, "a resource with a name that is none");
    } else if (grants.registered.size() == kMaxGrants) {
      refuse(ErrorCode::TooLarge, "more than " + std::to_string(kMaxGrants) + " resources");
    } else {
      grants.registered.push_back(std::move(resource));
    }
  }

  PodDevices entry_;
  PluginResource resource_;
  bool is_nvidia_ = false;  // by the ids of the devices of the entry or resource being read
  bool has_data_ = false;
};

// {"Entries": [{"PodUIDs": {"<uid>": {}}, "DriverState": {"gpu.nvidia.com": {"Devices": [{...}]}}}]}; up to Kubernetes
// 1.31 "entries", and "DriverName" in the place of "DriverState".
class ClaimWalk : public Walk {
 public:
  KubeletGrants grants;

 protected:
  void at_string(std::string& value) override {
    if (is_in_entry() && path().size() == 3 && is_at(2, "DriverName") && is_gpu_driver(value)) {
      driver_ = value;
    }
  }

 private:
  bool is_in_entry() const { return (is_at(0, "Entries") || is_at(0, "entries")) && is_at(1, kItem); }
  // "gpu.nvidia.com"; compute-domain.nvidia.com gives out channels, not GPUs.
  static bool is_gpu_driver(std::string_view name) {
    return name.starts_with("gpu.") && name.ends_with("nvidia.com") && is_name(name);
  }

  void at_key() override {
    if (!is_in_entry() || path().size() != 4) {
      return;
    }
    if (is_at(2, "PodUIDs")) {
      pods_.insert(path()[3]);
    } else if (is_at(2, "DriverState") && is_gpu_driver(path()[3])) {
      driver_ = path()[3];
    }
  }

  void at_object_end() override {
    if (is_in_entry() && path().size() == 2) {
      end_entry();
    } else if (is_in_entry() && is_at(2, "DriverState") && path().size() == 6 && is_at(3, driver_) &&
               is_at(4, "Devices")) {
      ++devices_;
    }
  }

  void end_entry() {
    const std::string driver = std::exchange(driver_, "");
    const std::uint32_t devices = std::exchange(devices_, 0);
    for (const std::string& pod : std::exchange(pods_, {})) {
      if (driver.empty()) {
        continue;
      }
      if (!is_name(pod)) {
        refuse(ErrorCode::Malformed, "a claim of a pod without a name");
      } else if (grants.pods.size() == kMaxGrants) {
        refuse(ErrorCode::TooLarge, "more than " + std::to_string(kMaxGrants) + " pods with claims");
      } else {
        grants.pods.push_back({pod, "", driver, devices});
      }
    }
  }

  std::set<std::string> pods_;
  std::string driver_;
  std::uint32_t devices_ = 0;
};

// What stands around the entries since Kubernetes 1.32: {"Data": "<the entries, as JSON in a string>", "Checksum": 1}
class ClaimWrapperWalk : public ClaimWalk {
 public:
  std::optional<std::string> data;

 protected:
  void at_string(std::string& value) override {
    if (path().size() == 1 && is_at(0, "Data")) {
      data = std::move(value);
    } else {
      ClaimWalk::at_string(value);
    }
  }
};

KubeletGrants sorted(KubeletGrants grants) {
  const auto key = [](const PodDevices& pod) { return std::tie(pod.pod_uid, pod.container, pod.resource); };
  std::sort(grants.pods.begin(), grants.pods.end(),
            [key](const PodDevices& a, const PodDevices& b) { return key(a) < key(b); });
  std::sort(grants.registered.begin(), grants.registered.end(),
            [](const PluginResource& a, const PluginResource& b) { return a.name < b.name; });
  return grants;
}

}  // namespace

Result<KubeletGrants> parse_device_checkpoint(std::istream& file) {
  CheckpointWalk walk;
  if (!walk.through(file)) {
    return tl::unexpected(walk.error());
  }
  if (!walk.has_data()) {
    return fail(ErrorCode::Malformed, "no checkpoint of the device manager: \"Data\" is not in it");
  }
  return sorted(std::move(walk.grants));
}

Result<KubeletGrants> parse_claim_state(std::istream& file) {
  ClaimWrapperWalk walk;
  if (!walk.through(file)) {
    return tl::unexpected(walk.error());
  }
  if (!walk.data) {
    return sorted(std::move(walk.grants));
  }
  ClaimWalk entries;
  std::istringstream data(std::move(*walk.data));
  if (!entries.through(data)) {
    return tl::unexpected(entries.error());
  }
  return sorted(std::move(entries.grants));
}

}  // namespace gpuskew
