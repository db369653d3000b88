#pragma once

#include "agent/probes/cdi_specs.h"
#include "agent/probes/container_runtime.h"
#include "agent/probes/device_holders.h"
#include "agent/probes/kernel_modules.h"
#include "agent/probes/kernel_settings.h"
#include "agent/probes/kubelet_devices.h"
#include "agent/probes/module_cache.h"
#include "agent/probes/package_cache.h"
#include "agent/probes/pci.h"

namespace gpuskew {

/// What the probes remember from one read to the next, so that a read costs little and knows how long a thing lasts.
struct ReadCache {
  ModuleCache modules;
  PackageCache packages;
  ModuleStates module_states;
  HolderCache holders;
  KubeletCache kubelet;
  PciCache pci;
  SecureBootMemory secure_boot;
  ContainerRuntimeCache runtime;
  CdiSpecCache cdi_specs;
};

}  // namespace gpuskew
