#pragma once

// Nodes as tests tell of them: a healthy one, and what may happen to it.

#include <string>
#include <utility>
#include <vector>

#include "core/judge.h"

namespace gpuskew::testing {

inline constexpr Time kBoot = from_unix_ms(1'790'000'000'000);
inline constexpr Time kLongAfterBoot = kBoot + std::chrono::hours(5);

inline DriverVersion driver(std::string_view text) {
  return DriverVersion::parse(text).value();
}
inline KernelRelease kernel(std::string_view text) {
  return KernelRelease::parse(text).value();
}

template <class T>
Fact<T> known(T value, std::string source = "test") {
  return Fact<T>::known(std::move(value), std::move(source));
}
template <class T>
Fact<T> absent(std::string source = "test") {
  return Fact<T>::absent(std::move(source));
}
template <class T>
Fact<T> denied(std::string source = "test") {
  return Fact<T>::unknown(Error{ErrorCode::Denied, "permission denied"}, std::move(source));
}

inline Gpu gpu(std::string address, std::string bound_to = "nvidia") {
  return Gpu{std::move(address), 0x20b0, bound_to.empty() ? absent<std::string>() : known(std::move(bound_to))};
}

inline Library library(std::string_view version, DriverRoot root = DriverRoot::Host) {
  return Library{"libnvidia-ml", driver(version), "/usr/lib/libnvidia-ml.so." + std::string(version), root};
}

/// gpu-node-1: two GPUs, 550.90.07 on 5.15.0-119-generic, Ubuntu 22.04, everything in order.
inline Snapshot healthy_node() {
  Snapshot s;
  s.node = "gpu-node-1";
  s.agent_version = "0.1.0";
  s.taken_at = kLongAfterBoot;
  s.boot_id = known<std::string>("boot-a");
  s.boot_time = known(kBoot);
  s.kernel = known(kernel("5.15.0-119-generic"));
  s.architecture = known<std::string>("x86_64");
  s.os = known(OsIdentity{"ubuntu", "22.04", "Ubuntu 22.04.4 LTS", "", "", ""});
  s.loaded_driver = known(driver("550.90.07"), "/sys/module/nvidia/version");
  s.loaded_flavour = known(ModuleFlavour::Proprietary);
  s.l4t_release = absent<std::string>();
  s.module_file =
      known(ModuleFile{"/lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko", known(driver("550.90.07"))});
  s.libraries = known(std::vector<Library>{library("550.90.07")});
  s.driver_container = absent<DriverContainer>();
  s.gpus = known(std::vector<Gpu>{gpu("0000:3b:00.0"), gpu("0000:af:00.0")});
  return s;
}

/// The same node after a boot into 5.15.0-122-generic, for which no module exists.
inline Snapshot bumped_node() {
  Snapshot s = healthy_node();
  s.boot_id = known<std::string>("boot-b");
  s.kernel = known(kernel("5.15.0-122-generic"));
  s.loaded_driver = absent<DriverVersion>("/sys/module/nvidia");
  s.loaded_flavour = absent<ModuleFlavour>();
  s.module_file = absent<ModuleFile>("/lib/modules/5.15.0-122-generic");
  s.gpus = known(std::vector<Gpu>{gpu("0000:3b:00.0", ""), gpu("0000:af:00.0", "")});
  return s;
}

/// The memory of healthy_node, an hour before its boot-b.
inline NodeHistory history_of_healthy() {
  NodeHistory history;
  history.last_good = good_state(healthy_node());
  history.last_good->at = kBoot - std::chrono::hours(1);
  history.boot_id = "boot-b";
  history.boot_first_seen = kBoot;
  return history;
}

}  // namespace gpuskew::testing
