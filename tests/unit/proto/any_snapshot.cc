#include "tests/unit/proto/any_snapshot.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rapidcheck.h>

namespace gpuskew {
namespace {

using rc::Gen;
using rc::gen::arbitrary;
using rc::gen::build;
using rc::gen::element;
using rc::gen::set;

Gen<std::string> text(int min_length) {
  auto character = element<std::string>("a", "Z", "7", "-", ".", "/", "_", " ", "\"", "\\", "é", "驱", "🚀");
  auto characters = rc::gen::withSize([character](int size) {
    return rc::gen::container<std::vector<std::string>>(static_cast<std::size_t>(size % 40), character);
  });
  return rc::gen::map(characters, [min_length](const std::vector<std::string>& pieces) {
    std::string all(static_cast<std::size_t>(min_length), 'x');
    for (const std::string& piece : pieces) {
      all += piece;
    }
    return all;
  });
}

template <class T>
Gen<std::optional<T>> optional(const Gen<T>& value) {
  return rc::gen::oneOf(rc::gen::map(value, [](const T& some) { return std::optional<T>(some); }),
                        rc::gen::just(std::optional<T>()));
}

template <class T>
Gen<std::vector<T>> list(const Gen<T>& item, int most = 4) {
  return rc::gen::resize(most, rc::gen::container<std::vector<T>>(item));
}

template <class T>
Gen<Fact<T>> fact(const Gen<T>& value) {
  auto code = element(ErrorCode::NotFound, ErrorCode::Denied, ErrorCode::Malformed, ErrorCode::TooLarge,
                      ErrorCode::Timeout, ErrorCode::Unreachable, ErrorCode::Unsupported, ErrorCode::Internal);
  return rc::gen::oneOf(rc::gen::apply(&Fact<T>::known, value, text(0)), rc::gen::map(text(0), &Fact<T>::absent),
                        rc::gen::apply(&Fact<T>::unknown,
                                       rc::gen::apply(
                                           [](ErrorCode c, std::string why) {
                                             return Error{c, why};
                                           },
                                           code, text(1)),
                                       text(0)),
                        rc::gen::just(Fact<T>()));
}

Gen<bool> yes_or_no() {
  return arbitrary<bool>();
}

Gen<std::uint32_t> number() {
  return arbitrary<std::uint32_t>();
}

Gen<Time> time_point() {
  return rc::gen::map(rc::gen::inRange<std::int64_t>(0, 253'402'300'799'999), from_unix_ms);
}

Gen<DriverVersion> driver() {
  return rc::gen::map(element("550.90.07", "570.133.7", "570.133.07", "460.56", "595.45.04"),
                      [](const char* version) { return DriverVersion::parse(version).value(); });
}

Gen<KernelRelease> kernel() {
  return rc::gen::map(element("5.15.0-119-generic", "6.6.72+", "5.14.0-427.13.1.el9_4.x86_64+rt", "6.17"),
                      [](const char* release) { return KernelRelease::parse(release).value(); });
}

Gen<std::string> pci_address() {
  return element<std::string>("0000:3b:00.0", "10000:01:1f.7");
}

Gen<ModuleFlavour> flavour() {
  return element(ModuleFlavour::Proprietary, ModuleFlavour::Open);
}

Gen<OsIdentity> os_identity_value() {
  return build<OsIdentity>(set(&OsIdentity::id, text(1)), set(&OsIdentity::version_id, optional(text(0))),
                           set(&OsIdentity::pretty_name, text(0)), set(&OsIdentity::variant_id, text(0)),
                           set(&OsIdentity::build_id, text(0)), set(&OsIdentity::ostree_version, text(0)));
}

Gen<ModuleFile> module_file() {
  return build<ModuleFile>(set(&ModuleFile::path, text(1)), set(&ModuleFile::version, fact(driver())),
                           set(&ModuleFile::built_for, fact(kernel())), set(&ModuleFile::flavour, fact(flavour())));
}

Gen<Library> library() {
  return build<Library>(set(&Library::name, text(1)), set(&Library::version, driver()), set(&Library::path, text(0)),
                        set(&Library::root, element(DriverRoot::Host, DriverRoot::Container)));
}

Gen<DriverContainer> container() {
  return build<DriverContainer>(set(&DriverContainer::root, text(1)), set(&DriverContainer::mounted, yes_or_no()));
}

Gen<KernelModule> module() {
  return build<KernelModule>(set(&KernelModule::name, text(1)), set(&KernelModule::refcount, optional(number())),
                             set(&KernelModule::used_by, list(text(1))),
                             set(&KernelModule::state, element(ModuleState::Live, ModuleState::Loading,
                                                               ModuleState::Unloading, ModuleState::Unknown)),
                             set(&KernelModule::taints, text(0)), set(&KernelModule::state_since, time_point()));
}

Gen<ValidationMark> validation() {
  return build<ValidationMark>(set(&ValidationMark::name, text(1)), set(&ValidationMark::written, time_point()),
                               set(&ValidationMark::host_driver, yes_or_no()));
}

Gen<InstallTrace> install() {
  return build<InstallTrace>(
      set(&InstallTrace::kind,
          element(InstallKind::Runfile, InstallKind::Deb, InstallKind::Rpm, InstallKind::Dkms, InstallKind::Prebuilt,
                  InstallKind::Akmod, InstallKind::Kmod, InstallKind::Container, InstallKind::OsImage)),
      set(&InstallTrace::part, element(InstallPart::KernelModule, InstallPart::UserSpace, InstallPart::FabricManager)),
      set(&InstallTrace::name, text(1)), set(&InstallTrace::version, text(0)), set(&InstallTrace::source, text(0)),
      set(&InstallTrace::changed_by, text(0)));
}

Gen<Gpu> gpu() {
  return build<Gpu>(set(&Gpu::address, pci_address()), set(&Gpu::device_id, arbitrary<std::uint16_t>()),
                    set(&Gpu::driver, fact(text(1))));
}

Gen<PciFunction> pci_function() {
  return build<PciFunction>(
      set(&PciFunction::address, pci_address()), set(&PciFunction::device_id, arbitrary<std::uint16_t>()),
      set(&PciFunction::kind,
          element(FunctionKind::NvSwitch, FunctionKind::Bridge, FunctionKind::Audio, FunctionKind::Usb,
                  FunctionKind::UsbTypeC, FunctionKind::VirtualFunction, FunctionKind::Other)));
}

Gen<DeviceNode> device_node() {
  return build<DeviceNode>(set(&DeviceNode::path, text(1)), set(&DeviceNode::major, number()),
                           set(&DeviceNode::minor, number()));
}

Gen<DeviceHolder> holder() {
  return build<DeviceHolder>(set(&DeviceHolder::pid, number()), set(&DeviceHolder::command, text(0)),
                             set(&DeviceHolder::devices, list(text(1))), set(&DeviceHolder::pod_uid, text(0)),
                             set(&DeviceHolder::container_id, text(0)), set(&DeviceHolder::unit, text(0)),
                             set(&DeviceHolder::asked_for_gpu, yes_or_no()));
}

Gen<DeviceHolders> holders() {
  return rc::gen::apply(
      [](const std::vector<DeviceHolder>& items, std::uint8_t more, std::uint32_t unread, const std::string& why) {
        return DeviceHolders{items, static_cast<std::uint32_t>(items.size() + more), unread, why};
      },
      list(holder()), arbitrary<std::uint8_t>(), number(), text(0));
}

Gen<KernelLogEvent> event() {
  return build<KernelLogEvent>(
      set(&KernelLogEvent::kind, rc::gen::map(rc::gen::inRange(0, static_cast<int>(KernelLogKind::KernelTrace) + 1),
                                              [](int kind) { return static_cast<KernelLogKind>(kind); })),
      set(&KernelLogEvent::gpu, text(0)), set(&KernelLogEvent::xid, number()), set(&KernelLogEvent::ours, text(0)),
      set(&KernelLogEvent::theirs, text(0)), set(&KernelLogEvent::text, text(0)),
      set(&KernelLogEvent::first_at, time_point()), set(&KernelLogEvent::last_at, time_point()),
      set(&KernelLogEvent::count, number()));
}

Gen<InstalledKernel> installed_kernel() {
  return build<InstalledKernel>(set(&InstalledKernel::release, kernel()), set(&InstalledKernel::has_image, yes_or_no()),
                                set(&InstalledKernel::has_headers, yes_or_no()),
                                set(&InstalledKernel::module_file, fact(module_file())));
}

Gen<NextKernel> next_kernel() {
  return build<NextKernel>(set(&NextKernel::release, kernel()), set(&NextKernel::rule, text(0)));
}

Gen<DkmsEntry> dkms_entry() {
  return build<DkmsEntry>(set(&DkmsEntry::module, text(1)), set(&DkmsEntry::version, text(0)),
                          set(&DkmsEntry::kernel, text(0)), set(&DkmsEntry::architecture, text(0)),
                          set(&DkmsEntry::stage, element(DkmsStage::Added, DkmsStage::Built, DkmsStage::Installed,
                                                         DkmsStage::Failed, DkmsStage::Broken)),
                          set(&DkmsEntry::note, text(0)));
}

Gen<BootBuilder> boot_builder() {
  return build<BootBuilder>(set(&BootBuilder::name, text(1)), set(&BootBuilder::source, text(0)));
}

Gen<ContainerRuntime> runtime() {
  using Runtime = ContainerRuntime;
  auto handler = build<RuntimeHandler>(set(&RuntimeHandler::name, text(1)), set(&RuntimeHandler::binary, text(0)),
                                       set(&RuntimeHandler::file, text(0)));
  auto conflict = build<ConfigConflict>(set(&ConfigConflict::key, text(1)), set(&ConfigConflict::kept, text(0)),
                                        set(&ConfigConflict::lost, text(0)), set(&ConfigConflict::effect, text(0)));
  return build<Runtime>(
      set(&Runtime::kind, element(RuntimeKind::Containerd, RuntimeKind::Crio)), set(&Runtime::flavour, text(0)),
      set(&Runtime::config, text(1)), set(&Runtime::config_version, number()), set(&Runtime::version, fact(text(1))),
      set(&Runtime::handlers, list(handler)), set(&Runtime::default_runtime, text(0)),
      set(&Runtime::cdi_enabled, yes_or_no()), set(&Runtime::unimported, list(text(1))),
      set(&Runtime::conflicts, list(conflict)), set(&Runtime::started_at, fact(time_point())),
      set(&Runtime::newest_file, text(0)), set(&Runtime::newest_change, time_point()), set(&Runtime::toolkit, text(0)));
}

Gen<CdiSpec> cdi_spec() {
  return build<CdiSpec>(set(&CdiSpec::path, text(1)), set(&CdiSpec::kind, text(1)), set(&CdiSpec::devices, number()),
                        set(&CdiSpec::driver_version, text(0)));
}

Gen<KubeletDevices> kubelet() {
  auto resource = build<PluginResource>(set(&PluginResource::name, text(1)), set(&PluginResource::devices, number()));
  auto pod = build<PodDevices>(set(&PodDevices::pod_uid, text(0)), set(&PodDevices::container, text(0)),
                               set(&PodDevices::resource, text(1)), set(&PodDevices::devices, number()));
  return build<KubeletDevices>(set(&KubeletDevices::sockets, list(text(1))),
                               set(&KubeletDevices::registered, list(resource)), set(&KubeletDevices::pods, list(pod)));
}

Gen<LastGood> last_good() {
  return build<LastGood>(
      set(&LastGood::at, time_point()), set(&LastGood::boot_id, text(0)), set(&LastGood::kernel, kernel()),
      set(&LastGood::driver, driver()),
      set(&LastGood::gpu_count, optional(rc::gen::inRange<std::uint32_t>(0, Snapshot::kMaxGpus + 1))),
      set(&LastGood::from_container, yes_or_no()), set(&LastGood::gpus, list(pci_address())));
}

void fill_driver(Snapshot& any) {
  any.loaded_driver = *fact(driver());
  any.loaded_flavour = *fact(flavour());
  any.l4t_release = *fact(text(1));
  any.wsl = *fact(text(1));
  any.module_file = *fact(module_file());
  any.modules = *fact(list(module()));
  any.libraries = *fact(list(library(), 6));
  any.fabric_manager = *fact(driver());
  any.driver_container = *fact(container());
  any.validations = *fact(list(validation()));
  any.installs = *fact(list(install()));
}

void fill_boot(Snapshot& any) {
  any.command_line = *fact(text(1));
  any.secure_boot = *fact(yes_or_no());
  any.lockdown = *fact(text(1));
  any.kernels = *fact(list(installed_kernel()));
  any.next_kernel = *fact(next_kernel());
  any.dkms = *fact(list(dkms_entry()));
  any.boot_builders = *fact(list(boot_builder()));
  any.reboot_required = *fact(build<RebootRequired>(set(&RebootRequired::packages, list(text(1)))));
}

}  // namespace

LastGood any_last_good() {
  return *last_good();
}

Snapshot any_snapshot() {
  Snapshot any;
  any.node = *element<std::string>("a", "gpu-7.rack-3", std::string(63, 'n'));
  any.agent_version = *text(0);
  any.taken_at = *time_point();
  any.boot_id = *fact(text(1));
  any.boot_time = *fact(time_point());
  any.kernel = *fact(kernel());
  any.architecture = *fact(text(1));
  any.os = *fact(os_identity_value());
  fill_driver(any);
  any.gpus = *fact(list(gpu(), 9));
  any.pci_functions = *fact(list(pci_function()));
  any.device_nodes = *fact(list(device_node()));
  any.holders = *fact(holders());
  any.kernel_log = *fact(list(event()));
  fill_boot(any);
  any.runtime = *fact(runtime());
  any.cdi_specs = *fact(list(cdi_spec()));
  any.kubelet = *fact(kubelet());
  any.expected_gpus = *optional(number());
  any.remembered = *optional(last_good());
  return any;
}

}  // namespace gpuskew
