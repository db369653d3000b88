// What the facts' enumerations are called on the wire, in JSON and to people.

#include "core/facts/devices.h"
#include "core/facts/install.h"
#include "core/facts/kernel_log.h"
#include "core/facts/modules.h"
#include "core/facts/next_boot.h"
#include "core/facts/runtime.h"
#include "core/name_table.h"

namespace gpuskew {
namespace {

constexpr NameTable<ModuleHome, 7> kModuleHomes{{
    {ModuleHome::Dkms, "dkms"},
    {ModuleHome::Prebuilt, "prebuilt"},
    {ModuleHome::Kernel, "kernel"},
    {ModuleHome::Extra, "extra"},
    {ModuleHome::WeakUpdates, "weak-updates"},
    {ModuleHome::Updates, "updates"},
    {ModuleHome::Other, "other"},
}};

constexpr NameTable<ModuleState, 4> kModuleStates{{
    {ModuleState::Live, "live"},
    {ModuleState::Loading, "loading"},
    {ModuleState::Unloading, "unloading"},
    {ModuleState::Unknown, "unknown"},
}};

constexpr NameTable<DkmsStage, 5> kDkmsStages{{
    {DkmsStage::Added, "added"},
    {DkmsStage::Built, "built"},
    {DkmsStage::Installed, "installed"},
    {DkmsStage::Failed, "failed"},
    {DkmsStage::Broken, "broken"},
}};

constexpr NameTable<FunctionKind, 7> kFunctionKinds{{
    {FunctionKind::NvSwitch, "nvswitch"},
    {FunctionKind::Bridge, "bridge"},
    {FunctionKind::Audio, "audio"},
    {FunctionKind::Usb, "usb"},
    {FunctionKind::UsbTypeC, "usb-type-c"},
    {FunctionKind::VirtualFunction, "virtual-function"},
    {FunctionKind::Other, "other"},
}};

constexpr NameTable<KernelLogKind, 19> kKernelLogKinds{{
    {KernelLogKind::DriverLoaded, "driver-loaded"},
    {KernelLogKind::ApiMismatch, "api-mismatch"},
    {KernelLogKind::KeyRejected, "key-rejected"},
    {KernelLogKind::Lockdown, "lockdown"},
    {KernelLogKind::VersionMagic, "version-magic"},
    {KernelLogKind::UnknownSymbol, "unknown-symbol"},
    {KernelLogKind::UnsignedTaint, "unsigned-taint"},
    {KernelLogKind::OtherDriver, "other-driver"},
    {KernelLogKind::ProbeFailed, "probe-failed"},
    {KernelLogKind::NotSupported, "not-supported"},
    {KernelLogKind::NotSupportedByOpen, "not-supported-by-open"},
    {KernelLogKind::NeedsOpen, "needs-open"},
    {KernelLogKind::InitFailed, "init-failed"},
    {KernelLogKind::GspFailed, "gsp-failed"},
    {KernelLogKind::FellOffBus, "fell-off-bus"},
    {KernelLogKind::Xid, "xid"},
    {KernelLogKind::SXid, "sxid"},
    {KernelLogKind::FabricManagerVersion, "fabric-manager-version"},
    {KernelLogKind::KernelTrace, "kernel-trace"},
}};

constexpr NameTable<InstallKind, 9> kInstallKinds{{
    {InstallKind::Runfile, "runfile"},
    {InstallKind::Deb, "deb"},
    {InstallKind::Rpm, "rpm"},
    {InstallKind::Dkms, "dkms"},
    {InstallKind::Prebuilt, "prebuilt"},
    {InstallKind::Akmod, "akmod"},
    {InstallKind::Kmod, "kmod"},
    {InstallKind::Container, "container"},
    {InstallKind::OsImage, "os-image"},
}};

constexpr NameTable<InstallPart, 3> kInstallParts{{
    {InstallPart::KernelModule, "kernel-module"},
    {InstallPart::UserSpace, "user-space"},
    {InstallPart::FabricManager, "fabric-manager"},
}};

constexpr NameTable<RuntimeKind, 2> kRuntimeKinds{{
    {RuntimeKind::Containerd, "containerd"},
    {RuntimeKind::Crio, "cri-o"},
}};

}  // namespace

std::string_view to_string(ModuleHome home) {
  return name_of(kModuleHomes, home);
}

ModuleHome module_home(std::string_view path) {
  const auto is_under = [path](std::string_view folder) { return path.find(folder) != std::string_view::npos; };
  if (is_under("/updates/dkms/")) {
    return ModuleHome::Dkms;
  }
  if (is_under("/weak-updates/")) {
    return ModuleHome::WeakUpdates;
  }
  if (is_under("/kernel/nvidia-")) {
    return ModuleHome::Prebuilt;
  }
  if (is_under("/extra/")) {
    return ModuleHome::Extra;
  }
  if (is_under("/updates/")) {
    return ModuleHome::Updates;
  }
  return is_under("/kernel/drivers/") ? ModuleHome::Kernel : ModuleHome::Other;
}

std::string_view to_string(ModuleState state) {
  return name_of(kModuleStates, state);
}

std::optional<ModuleState> module_state_from(std::string_view text) {
  return value_of(kModuleStates, text);
}

std::string_view to_string(DkmsStage stage) {
  return name_of(kDkmsStages, stage);
}

std::optional<DkmsStage> dkms_stage_from(std::string_view text) {
  return value_of(kDkmsStages, text);
}

std::string_view to_string(FunctionKind kind) {
  return name_of(kFunctionKinds, kind);
}

std::optional<FunctionKind> function_kind_from(std::string_view text) {
  return value_of(kFunctionKinds, text);
}

std::string_view to_string(KernelLogKind kind) {
  return name_of(kKernelLogKinds, kind);
}

std::optional<KernelLogKind> kernel_log_kind_from(std::string_view text) {
  return value_of(kKernelLogKinds, text);
}

std::string_view to_string(InstallKind kind) {
  return name_of(kInstallKinds, kind);
}

std::optional<InstallKind> install_kind_from(std::string_view text) {
  return value_of(kInstallKinds, text);
}

std::string_view to_string(InstallPart part) {
  return name_of(kInstallParts, part);
}

std::optional<InstallPart> install_part_from(std::string_view text) {
  return value_of(kInstallParts, text);
}

std::string_view to_string(RuntimeKind kind) {
  return name_of(kRuntimeKinds, kind);
}

std::optional<RuntimeKind> runtime_kind_from(std::string_view text) {
  return value_of(kRuntimeKinds, text);
}

}  // namespace gpuskew
