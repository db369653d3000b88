#pragma once

// One writer for each composite fact of a snapshot.

#include <vector>

#include "core/snapshot.h"

namespace gpuskew::v1 {
class BootBuildersFact;
class CdiSpecsFact;
class ContainerRuntimeFact;
class DeviceHoldersFact;
class DeviceNodesFact;
class DkmsFact;
class DriverContainerFact;
class GpusFact;
class InstalledKernelsFact;
class InstallsFact;
class KernelLogFact;
class KernelModulesFact;
class KubeletDevicesFact;
class LibrariesFact;
class ModuleFileFact;
class NextKernelFact;
class OsFact;
class PciFunctionsFact;
class RebootRequiredFact;
class ValidationsFact;
}  // namespace gpuskew::v1

namespace gpuskew::wire {

void write_os(const Fact<OsIdentity>& from, v1::OsFact& to);
void write_module_file(const Fact<ModuleFile>& from, v1::ModuleFileFact& to);
void write_libraries(const Fact<std::vector<Library>>& from, v1::LibrariesFact& to);
void write_container(const Fact<DriverContainer>& from, v1::DriverContainerFact& to);
void write_modules(const Fact<std::vector<KernelModule>>& from, v1::KernelModulesFact& to);
void write_validations(const Fact<std::vector<ValidationMark>>& from, v1::ValidationsFact& to);
void write_installs(const Fact<std::vector<InstallTrace>>& from, v1::InstallsFact& to);

void write_gpus(const Fact<std::vector<Gpu>>& from, v1::GpusFact& to);
void write_pci_functions(const Fact<std::vector<PciFunction>>& from, v1::PciFunctionsFact& to);
void write_device_nodes(const Fact<std::vector<DeviceNode>>& from, v1::DeviceNodesFact& to);
void write_holders(const Fact<DeviceHolders>& from, v1::DeviceHoldersFact& to);
void write_kernel_log(const Fact<std::vector<KernelLogEvent>>& from, v1::KernelLogFact& to);

void write_kernels(const Fact<std::vector<InstalledKernel>>& from, v1::InstalledKernelsFact& to);
void write_next_kernel(const Fact<NextKernel>& from, v1::NextKernelFact& to);
void write_dkms(const Fact<std::vector<DkmsEntry>>& from, v1::DkmsFact& to);
void write_boot_builders(const Fact<std::vector<BootBuilder>>& from, v1::BootBuildersFact& to);
void write_reboot_required(const Fact<RebootRequired>& from, v1::RebootRequiredFact& to);

void write_runtime(const Fact<ContainerRuntime>& from, v1::ContainerRuntimeFact& to);
void write_cdi_specs(const Fact<std::vector<CdiSpec>>& from, v1::CdiSpecsFact& to);
void write_kubelet(const Fact<KubeletDevices>& from, v1::KubeletDevicesFact& to);

}  // namespace gpuskew::wire
