// From the wire: the OS, and the driver on disk, in the kernel and in packages.

#include "gpuskew/v1/driver_facts.pb.h"
#include "proto/from_wire_facts.h"
#include "proto/wire_read.h"

namespace gpuskew::wire {
namespace {

void read_library(v1::Library& from, Library& to, FieldReader& in) {
  in.text(from.mutable_name(), to.name, "name");
  in.parsed(from.version(), to.version, to.name);
  in.prose(from.mutable_path(), to.path);
  to.root = from.from_container() ? DriverRoot::Container : DriverRoot::Host;
}

void read_module(v1::KernelModule& from, KernelModule& to, FieldReader& in) {
  in.text(from.mutable_name(), to.name, "name");
  if (from.has_refcount()) {
    to.refcount = from.refcount();
  }
  in.texts(from.mutable_used_by(), to.used_by, KernelModule::kMaxUsers, "users of a module");
  in.word(from.state(), to.state, &module_state_from, "module state");
  in.prose(from.mutable_taints(), to.taints);
  in.time(from.state_since_unix_ms(), to.state_since, to.name);
}

void read_validation(v1::ValidationMark& from, ValidationMark& to, FieldReader& in) {
  in.text(from.mutable_name(), to.name, "name");
  in.time(from.written_unix_ms(), to.written, to.name);
  to.host_driver = from.host_driver();
}

void read_install(v1::InstallTrace& from, InstallTrace& to, FieldReader& in) {
  in.word(from.kind(), to.kind, &install_kind_from, "kind of installer");
  in.word(from.part(), to.part, &install_part_from, "part of a driver");
  in.text(from.mutable_name(), to.name, "name");
  in.prose(from.mutable_version(), to.version);
  in.prose(from.mutable_source(), to.source);
  in.prose(from.mutable_changed_by(), to.changed_by);
}

}  // namespace

Fact<OsIdentity> read_os(v1::OsFact& from, std::string_view field) {
  return read_fact<OsIdentity>(from, field, [](v1::OsFact& fact, OsIdentity& to, FieldReader& in) {
    v1::Os& os = *fact.mutable_known();
    in.text(os.mutable_id(), to.id, "ID");
    if (os.has_version_id()) {
      in.prose(os.mutable_version_id(), to.version_id.emplace());
    }
    in.prose(os.mutable_pretty_name(), to.pretty_name);
    in.prose(os.mutable_variant_id(), to.variant_id);
    in.prose(os.mutable_build_id(), to.build_id);
    in.prose(os.mutable_ostree_version(), to.ostree_version);
  });
}

Fact<ModuleFile> read_module_file(v1::ModuleFileFact& from, std::string_view field) {
  return read_fact<ModuleFile>(from, field, [](v1::ModuleFileFact& fact, ModuleFile& to, FieldReader& in) {
    v1::ModuleFile& file = *fact.mutable_known();
    in.text(file.mutable_path(), to.path, "path");
    to.version = read_parsed<DriverVersion>(*file.mutable_version(), "version");
    to.built_for = read_parsed<KernelRelease>(*file.mutable_built_for(), "kernel it was built for");
    to.flavour = read_flavour(*file.mutable_flavour(), "flavour");
  });
}

Fact<std::vector<Library>> read_libraries(v1::LibrariesFact& from, std::string_view field) {
  return read_list<Library>(from, field, Snapshot::kMaxLibraries, "libraries", read_library);
}

Fact<DriverContainer> read_container(v1::DriverContainerFact& from, std::string_view field) {
  return read_fact<DriverContainer>(from, field,
                                    [](v1::DriverContainerFact& fact, DriverContainer& to, FieldReader& in) {
                                      in.text(fact.mutable_known()->mutable_root(), to.root, "root");
                                      to.mounted = fact.known().mounted();
                                    });
}

Fact<std::vector<KernelModule>> read_modules(v1::KernelModulesFact& from, std::string_view field) {
  return read_list<KernelModule>(from, field, Snapshot::kMaxModules, "modules", read_module);
}

Fact<std::vector<ValidationMark>> read_validations(v1::ValidationsFact& from, std::string_view field) {
  return read_list<ValidationMark>(from, field, kMaxValidationMarks, "marks", read_validation);
}

Fact<std::vector<InstallTrace>> read_installs(v1::InstallsFact& from, std::string_view field) {
  return read_list<InstallTrace>(from, field, kMaxInstallTraces, "traces", read_install);
}

}  // namespace gpuskew::wire
