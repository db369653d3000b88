// What the next boot will bring: the kernel the boot loader takes, and whether a driver is there for it. A module file
// is not enough: it has to be built for that kernel, and to be of the libraries' version.

#include "core/rules/next_boot.h"

#include <algorithm>

namespace gpuskew::rules {
namespace {

std::string because(const Error& why) {
  return "unknown, because " + why.what;
}

Forecast told(NextBootGpu gpu, std::string why, Obstacle obstacle = Obstacle::None) {
  return Forecast{gpu, std::move(why), std::nullopt, obstacle, ""};
}

// Why no forecast is made here; nullopt: one is.
std::optional<Forecast> not_applicable(const Scene& scene) {
  const Snapshot& s = scene.snapshot;
  if (s.l4t_release.is_known()) {
    return told(NextBootGpu::NotApplicable, "this is a Jetson: its driver is a part of its system");
  }
  if (s.wsl.is_known()) {
    return told(NextBootGpu::NotApplicable, "this is WSL2: its driver is Windows'");
  }
  if (s.gpus.is_known() && !s.gpus->empty() && std::all_of(s.gpus->begin(), s.gpus->end(), is_passthrough)) {
    return told(NextBootGpu::NotApplicable, "all GPUs are handed to virtual machines");
  }
  const bool is_expected = s.expected_gpus.value_or(0) > 0 || (s.gpus.is_known() && !s.gpus->empty());
  if (s.loaded_driver.is_known() || scene.last_good != nullptr || is_expected) {
    return std::nullopt;
  }
  if (s.gpus.is_unknown()) {
    return told(NextBootGpu::CannotTell, "whether this node has a GPU is " + because(s.gpus.why()));
  }
  return told(NextBootGpu::NotApplicable, "no NVIDIA GPU and no driver are here");
}

// ---- the driver of a container: its image decides

Forecast by_image(const Scene& scene, const KernelRelease& kernel) {
  const auto driver = wanted_driver(scene.snapshot, scene.history);
  const auto tag =
      compute_tag(driver, Fact<KernelRelease>::known(kernel, "next boot"), scene.snapshot.os, scene.policy.tag);
  if (!tag) {
    return told(NextBootGpu::CannotTell, "the driver comes from a container; " + tag.error().what);
  }
  if (scene.matrix == nullptr) {
    return told(NextBootGpu::CannotTell,
                "the driver comes from a container, and no matrix is configured to say whether "
                "the image " +
                    tag->text + " exists");
  }
  if (scene.matrix->contains(*tag)) {
    return told(NextBootGpu::Keeps, "the driver image " + tag->text + " for " + kernel.text() + " exists");
  }
  Forecast lost =
      told(NextBootGpu::Loses, "the driver image " + tag->text + " for " + kernel.text() + " does not exist",
           Obstacle::NoImage);
  lost.image = tag->text;
  return lost;
}

// ---- the driver of the host: its module file decides

// What RHEL's and SUSE's kernels promise to keep within: "el9_4", "150500". "" elsewhere.
std::string_view abi_series(std::string_view release) {
  if (const std::size_t el = release.find(".el"); el != std::string_view::npos) {
    const std::string_view rest = release.substr(el + 1);
    return rest.substr(0, rest.find_first_of(".+"));
  }
  constexpr std::size_t kServicePackDigits = 6;
  const std::size_t dash = release.find('-');
  if (dash != std::string_view::npos) {
    const std::string_view number = release.substr(dash + 1, release.find('.', dash) - dash - 1);
    if (number.size() == kServicePackDigits && number.find_first_not_of("0123456789") == std::string_view::npos) {
      return number;
    }
  }
  return {};
}

// A weak-updates link to a module of another kernel: legitimate where the distribution keeps its kernels' interface,
// and made by a script that compared the symbols.
Forecast by_weak_update(const Scene& scene, const KernelRelease& kernel, const ModuleFile& file) {
  const std::string& built_for = file.built_for->text();
  const Snapshot& s = scene.snapshot;
  const bool is_running = s.kernel.is_known() && s.kernel.value() == kernel;
  const bool is_loaded =
      s.loaded_driver.is_known() && file.version.is_known() && s.loaded_driver.value() == file.version.value();
  const std::string what = file.path + " leads to a module built for " + built_for;
  if (is_running && is_loaded) {
    return told(NextBootGpu::Keeps, what + ", and the running kernel took it");
  }
  const std::string_view series = abi_series(kernel.text());
  const std::string_view built_series = abi_series(built_for);
  if (series.empty() || built_series.empty()) {
    return told(NextBootGpu::Loses, "its only module, " + what + ", and this distribution's kernels keep no interface",
                Obstacle::OtherKernel);
  }
  if (series == built_series) {
    return told(NextBootGpu::Keeps,
                what + " of the same series (" + std::string(series) + "), which keeps its interface");
  }
  return told(NextBootGpu::CannotTell, what + " of another series (" + std::string(built_series) + ", not " +
                                           std::string(series) +
                                           "): it loads only where the interface stayed the same");
}

// The module loads; do programs work with it?
Forecast by_libraries(const Scene& scene, const ModuleFile& file) {
  const auto& libraries = scene.snapshot.libraries;
  if (libraries.is_unknown()) {
    return told(NextBootGpu::CannotTell, "whether its module agrees with the libraries is " + because(libraries.why()));
  }
  if (!file.version.is_known()) {
    return told(NextBootGpu::CannotTell, "the version of " + file.path + " is " +
                                             (file.version.is_unknown() ? because(file.version.why()) : "not told"));
  }
  if (libraries.is_known()) {
    for (const Library& library : libraries.value()) {
      if (library.root == DriverRoot::Host && library.version != file.version.value()) {
        return told(NextBootGpu::Loses,
                    "its module is " + file.version->text() + " and " + library.name + " is " + library.version.text() +
                        ": CUDA and NVML refuse to work with that",
                    Obstacle::OtherVersion);
      }
    }
  }
  return told(NextBootGpu::Keeps, "its module " + file.path + " (" + file.version->text() + ") is there");
}

bool is_built_locally(const ModuleFile& file) {
  const ModuleHome home = module_home(file.path);
  return home == ModuleHome::Dkms || home == ModuleHome::Extra || home == ModuleHome::Updates;
}

// Nothing that can be read here tells which keys the firmware and the kernel trust: said, not judged.
void mention_secure_boot(const Scene& scene, const KernelRelease& kernel, const ModuleFile& file, Forecast& forecast) {
  const Snapshot& s = scene.snapshot;
  const bool runs_now = s.kernel.is_known() && s.kernel.value() == kernel && s.loaded_driver.is_known();
  if (forecast.gpu == NextBootGpu::Keeps && s.secure_boot.is_known() && s.secure_boot.value() && !runs_now &&
      is_built_locally(file)) {
    forecast.why += "; secure boot is on, and whether its signature is trusted is not known";
  }
}

Forecast by_file(const Scene& scene, const KernelRelease& kernel, const ModuleFile& file) {
  if (!file.built_for.is_known()) {
    return told(NextBootGpu::CannotTell,
                "for which kernel " + file.path + " was built is " +
                    (file.built_for.is_unknown() ? because(file.built_for.why()) : "not told"));
  }
  if (!(file.built_for.value() == kernel)) {
    if (module_home(file.path) != ModuleHome::WeakUpdates) {
      return told(NextBootGpu::Loses, "its module " + file.path + " was built for " + file.built_for->text(),
                  Obstacle::OtherKernel);
    }
    Forecast weak = by_weak_update(scene, kernel, file);
    if (weak.gpu != NextBootGpu::Keeps) {
      return weak;
    }
    const Forecast agrees = by_libraries(scene, file);
    return agrees.gpu == NextBootGpu::Keeps ? weak : agrees;
  }
  return by_libraries(scene, file);
}

bool has_installer(const Scene& scene, InstallKind kind) {
  const auto& installs = scene.snapshot.installs;
  return installs.is_known() && std::any_of(installs->begin(), installs->end(),
                                            [kind](const InstallTrace& trace) { return trace.kind == kind; });
}

// What would build a module while the node boots: a service, with something of nvidia's for it to build.
std::optional<std::string> builder_at_boot(const Scene& scene) {
  const auto& builders = scene.snapshot.boot_builders;
  const auto& dkms = scene.snapshot.dkms;
  const bool for_dkms = !dkms.is_absent() && !(dkms.is_known() && dkms->empty());
  if (!builders.is_known()) {
    return for_dkms || has_installer(scene, InstallKind::Akmod)
               ? std::optional<std::string>("a service that may be there")
               : std::nullopt;
  }
  for (const BootBuilder& builder : builders.value()) {
    const bool has_work = builder.name == "akmods" ? has_installer(scene, InstallKind::Akmod) : for_dkms;
    if (has_work) {
      return builder.name;
    }
  }
  return std::nullopt;
}

Forecast without_file(const Scene& scene, const KernelRelease& kernel) {
  const std::string none = "no nvidia module file exists for " + kernel.text();
  const DkmsEntry* entry = dkms_entry(scene, kernel);
  if (entry != nullptr && entry->stage == DkmsStage::Failed) {
    return told(NextBootGpu::Loses, none + ": dkms could not build it (" + entry->note + ")", Obstacle::BuildFailed);
  }
  if (entry != nullptr && entry->stage == DkmsStage::Broken && !entry->kernel.empty()) {
    return told(NextBootGpu::CannotTell, none + " yet, and a build of dkms is not done: " + entry->note);
  }
  if (entry != nullptr && entry->stage == DkmsStage::Broken) {
    return told(NextBootGpu::Loses, none + ", and dkms can build none: " + entry->note, Obstacle::BuildFailed);
  }
  const InstalledKernel* found = installed(scene, kernel);
  const std::optional<std::string> builder = builder_at_boot(scene);
  if (builder && (found == nullptr || found->has_headers)) {
    return told(NextBootGpu::CannotTell, none + " yet; " + *builder + " builds it at boot, if the build works");
  }
  if (has_installer(scene, InstallKind::OsImage)) {
    return told(NextBootGpu::CannotTell, none + ", but here the driver comes with the OS image");
  }
  if (entry != nullptr && entry->stage == DkmsStage::Installed) {
    return told(NextBootGpu::Loses, none + ", though dkms has it as installed", Obstacle::NoModule);
  }
  return told(NextBootGpu::Loses, none + (builder ? ", and without its headers none can be built" : ""),
              Obstacle::NoModule);
}

// A driver that does not load now, on this very kernel, is no promise for the next boot.
bool fails_now(const Scene& scene, const KernelRelease& kernel) {
  const Snapshot& s = scene.snapshot;
  return s.loaded_driver.is_absent() && s.kernel.is_known() && s.kernel.value() == kernel;
}

Forecast by_module(const Scene& scene, const KernelRelease& kernel) {
  const InstalledKernel* found = installed(scene, kernel);
  const bool is_running = scene.snapshot.kernel.is_known() && scene.snapshot.kernel.value() == kernel;
  if (found == nullptr && !is_running) {
    const auto& kernels = scene.snapshot.kernels;
    return told(NextBootGpu::CannotTell,
                kernels.is_unknown() ? "what is installed for " + kernel.text() + " is " + because(kernels.why())
                                     : kernel.text() + " is none of the installed kernels");
  }
  const Fact<ModuleFile>& file = found != nullptr ? found->module_file : scene.snapshot.module_file;
  if (file.is_unknown()) {
    return told(NextBootGpu::CannotTell, "the nvidia module file for " + kernel.text() + " is " + because(file.why()));
  }
  if (file.is_absent()) {
    return without_file(scene, kernel);
  }
  Forecast forecast = by_file(scene, kernel, *file);
  if (forecast.gpu == NextBootGpu::Keeps && fails_now(scene, kernel)) {
    return told(NextBootGpu::CannotTell,
                "the driver is not loaded now on this very kernel, though " + file->path + " is there for it");
  }
  mention_secure_boot(scene, kernel, *file, forecast);
  return forecast;
}

Forecast forecast_for(const Scene& scene, const KernelRelease& kernel) {
  Forecast forecast = is_from_container(scene) ? by_image(scene, kernel) : by_module(scene, kernel);
  const auto& gpus = scene.snapshot.gpus;
  if (forecast.gpu == NextBootGpu::Keeps && gpus.is_known() && gpus->empty()) {
    forecast = told(NextBootGpu::CannotTell, forecast.why + ", but no NVIDIA GPU is on the PCI bus now");
  }
  forecast.kernel = kernel;
  return forecast;
}

// Which kernel boots is not known, but it may not matter.
Forecast for_any_kernel(const Scene& scene) {
  const auto& next = scene.snapshot.next_kernel;
  Forecast unknown = told(NextBootGpu::CannotTell, "which kernel boots next is " + because(next.why()));
  // NotFound: the loader takes a kernel that is none of those we know, so they do not speak for it.
  if (next.why().code == ErrorCode::NotFound || !scene.snapshot.kernels.is_known()) {
    return unknown;
  }
  std::optional<Forecast> common;
  std::size_t count = 0;
  for (const InstalledKernel& kernel : scene.snapshot.kernels.value()) {
    if (!kernel.has_image) {
      continue;
    }
    Forecast forecast = forecast_for(scene, kernel.release);
    if (forecast.gpu == NextBootGpu::CannotTell || (common && common->gpu != forecast.gpu)) {
      return unknown;
    }
    common = common ? std::move(common) : std::optional(std::move(forecast));
    ++count;
  }
  if (!common) {
    return unknown;
  }
  const std::string kernels =
      count == 1 ? "the only bootable kernel" : "whichever of the " + std::to_string(count) + " bootable kernels it is";
  common->why = "which kernel boots is not known, but for " + kernels + ": " + common->why;
  if (count > 1) {
    common->kernel = std::nullopt;
  }
  return std::move(*common);
}

}  // namespace

const InstalledKernel* installed(const Scene& scene, const KernelRelease& release) {
  const auto& kernels = scene.snapshot.kernels;
  if (!kernels.is_known()) {
    return nullptr;
  }
  const auto found = std::find_if(kernels->begin(), kernels->end(),
                                  [&release](const InstalledKernel& kernel) { return kernel.release == release; });
  return found == kernels->end() ? nullptr : &*found;
}

const DkmsEntry* dkms_entry(const Scene& scene, const KernelRelease& release) {
  const auto& dkms = scene.snapshot.dkms;
  const DkmsEntry* worst = nullptr;
  if (!dkms.is_known()) {
    return nullptr;
  }
  for (const DkmsEntry& entry : dkms.value()) {
    // An entry of no kernel speaks for all only where it stops dkms as a whole.
    const bool speaks = entry.kernel == release.text() || (entry.kernel.empty() && entry.stage == DkmsStage::Broken);
    if (speaks && (worst == nullptr || entry.stage > worst->stage)) {
      worst = &entry;
    }
  }
  return worst;
}

bool is_from_container(const Scene& scene) {
  if (scene.snapshot.driver_container.is_known()) {
    return true;
  }
  return scene.last_good != nullptr && scene.last_good->from_container && !scene.snapshot.module_file.is_known();
}

Forecast forecast(const Scene& scene) {
  if (auto settled = not_applicable(scene)) {
    return std::move(*settled);
  }
  const auto& next = scene.snapshot.next_kernel;
  if (next.is_known()) {
    return forecast_for(scene, next->release);
  }
  if (next.is_absent()) {
    return told(NextBootGpu::CannotTell,
                "no boot loader is set up here: which kernel boots next is decided outside of this system");
  }
  return for_any_kernel(scene);
}

NextBoot next_boot(const Scene& scene) {
  Forecast made = forecast(scene);
  return NextBoot{made.gpu, std::move(made.why), std::move(made.kernel)};
}

}  // namespace gpuskew::rules
