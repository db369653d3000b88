#pragma once

// One reader for each composite fact of a snapshot. `field` is the fact's name in an error.

#include <string_view>
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

Fact<OsIdentity> read_os(v1::OsFact& from, std::string_view field);
Fact<ModuleFile> read_module_file(v1::ModuleFileFact& from, std::string_view field);
Fact<std::vector<Library>> read_libraries(v1::LibrariesFact& from, std::string_view field);
Fact<DriverContainer> read_container(v1::DriverContainerFact& from, std::string_view field);
Fact<std::vector<KernelModule>> read_modules(v1::KernelModulesFact& from, std::string_view field);
Fact<std::vector<ValidationMark>> read_validations(v1::ValidationsFact& from, std::string_view field);
Fact<std::vector<InstallTrace>> read_installs(v1::InstallsFact& from, std::string_view field);

Fact<std::vector<Gpu>> read_gpus(v1::GpusFact& from, std::string_view field);
Fact<std::vector<PciFunction>> read_pci_functions(v1::PciFunctionsFact& from, std::string_view field);
Fact<std::vector<DeviceNode>> read_device_nodes(v1::DeviceNodesFact& from, std::string_view field);
Fact<DeviceHolders> read_holders(v1::DeviceHoldersFact& from, std::string_view field);
Fact<std::vector<KernelLogEvent>> read_kernel_log(v1::KernelLogFact& from, std::string_view field);

Fact<std::vector<InstalledKernel>> read_kernels(v1::InstalledKernelsFact& from, std::string_view field);
Fact<NextKernel> read_next_kernel(v1::NextKernelFact& from, std::string_view field);
Fact<std::vector<DkmsEntry>> read_dkms(v1::DkmsFact& from, std::string_view field);
Fact<std::vector<BootBuilder>> read_boot_builders(v1::BootBuildersFact& from, std::string_view field);
Fact<RebootRequired> read_reboot_required(v1::RebootRequiredFact& from, std::string_view field);

Fact<ContainerRuntime> read_runtime(v1::ContainerRuntimeFact& from, std::string_view field);
Fact<std::vector<CdiSpec>> read_cdi_specs(v1::CdiSpecsFact& from, std::string_view field);
Fact<KubeletDevices> read_kubelet(v1::KubeletDevicesFact& from, std::string_view field);

}  // namespace gpuskew::wire
