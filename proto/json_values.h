#pragma once

// The values of facts as JSON, and a fact as JSON: what to_json(Snapshot) is made of.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/snapshot.h"

namespace gpuskew {

nlohmann::ordered_json value_json(bool value);
nlohmann::ordered_json value_json(std::uint32_t value);
nlohmann::ordered_json value_json(const std::string& value);
nlohmann::ordered_json value_json(Time value);
nlohmann::ordered_json value_json(const KernelRelease& value);
nlohmann::ordered_json value_json(const DriverVersion& value);
nlohmann::ordered_json value_json(ModuleFlavour value);
nlohmann::ordered_json value_json(const OsIdentity& value);

nlohmann::ordered_json value_json(const ModuleFile& value);
nlohmann::ordered_json value_json(const KernelModule& value);
nlohmann::ordered_json value_json(const Library& value);
nlohmann::ordered_json value_json(const DriverContainer& value);
nlohmann::ordered_json value_json(const ValidationMark& value);
nlohmann::ordered_json value_json(const InstallTrace& value);

nlohmann::ordered_json value_json(const Gpu& value);
nlohmann::ordered_json value_json(const PciFunction& value);
nlohmann::ordered_json value_json(const DeviceNode& value);
nlohmann::ordered_json value_json(const DeviceHolder& value);
nlohmann::ordered_json value_json(const DeviceHolders& value);
nlohmann::ordered_json value_json(const KernelLogEvent& value);

nlohmann::ordered_json value_json(const InstalledKernel& value);
nlohmann::ordered_json value_json(const NextKernel& value);
nlohmann::ordered_json value_json(const DkmsEntry& value);
nlohmann::ordered_json value_json(const BootBuilder& value);
nlohmann::ordered_json value_json(const RebootRequired& value);

nlohmann::ordered_json value_json(const RuntimeHandler& value);
nlohmann::ordered_json value_json(const ConfigConflict& value);
nlohmann::ordered_json value_json(const ContainerRuntime& value);
nlohmann::ordered_json value_json(const CdiSpec& value);
nlohmann::ordered_json value_json(const PluginResource& value);
nlohmann::ordered_json value_json(const PodDevices& value);
nlohmann::ordered_json value_json(const KubeletDevices& value);

template <class T>
nlohmann::ordered_json value_json(const std::vector<T>& values) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const T& value : values) {
    json.push_back(value_json(value));
  }
  return json;
}

template <class T>
nlohmann::ordered_json fact_json(const Fact<T>& fact) {
  nlohmann::ordered_json json;
  if (fact.is_known()) {
    json["state"] = "known";
    json["value"] = value_json(fact.value());
  } else if (fact.is_absent()) {
    json["state"] = "absent";
  } else {
    json["state"] = "unknown";
    json["because"] = fact.why().what;
    json["code"] = to_string(fact.why().code);
  }
  json["source"] = fact.source();
  return json;
}

}  // namespace gpuskew
