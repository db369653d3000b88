// To the wire: the OS, and the driver on disk, in the kernel and in packages.

#include "gpuskew/v1/driver_facts.pb.h"
#include "proto/to_wire_facts.h"
#include "proto/wire_write.h"

namespace gpuskew::wire {

void write_os(const Fact<OsIdentity>& from, v1::OsFact& to) {
  write_fact(from, to, [](const OsIdentity& os, v1::OsFact& fact) {
    v1::Os& known = *fact.mutable_known();
    assign_utf8(*known.mutable_id(), os.id);
    if (os.version_id) {
      assign_utf8(*known.mutable_version_id(), *os.version_id);
    } else {
      known.clear_version_id();
    }
    assign_utf8(*known.mutable_pretty_name(), os.pretty_name);
    assign_utf8(*known.mutable_variant_id(), os.variant_id);
    assign_utf8(*known.mutable_build_id(), os.build_id);
    assign_utf8(*known.mutable_ostree_version(), os.ostree_version);
  });
}

void write_module_file(const Fact<ModuleFile>& from, v1::ModuleFileFact& to) {
  write_fact(from, to, [](const ModuleFile& file, v1::ModuleFileFact& fact) {
    v1::ModuleFile& known = *fact.mutable_known();
    assign_utf8(*known.mutable_path(), file.path);
    write_parsed(file.version, *known.mutable_version());
    write_parsed(file.built_for, *known.mutable_built_for());
    write_flavour(file.flavour, *known.mutable_flavour());
  });
}

void write_libraries(const Fact<std::vector<Library>>& from, v1::LibrariesFact& to) {
  write_list(from, to, [](const Library& library, v1::Library& item) {
    assign_utf8(*item.mutable_name(), library.name);
    assign_utf8(*item.mutable_version(), library.version.text());
    assign_utf8(*item.mutable_path(), library.path);
    item.set_from_container(library.root == DriverRoot::Container);
  });
}

void write_container(const Fact<DriverContainer>& from, v1::DriverContainerFact& to) {
  write_fact(from, to, [](const DriverContainer& container, v1::DriverContainerFact& fact) {
    assign_utf8(*fact.mutable_known()->mutable_root(), container.root);
    fact.mutable_known()->set_mounted(container.mounted);
  });
}

void write_modules(const Fact<std::vector<KernelModule>>& from, v1::KernelModulesFact& to) {
  write_list(from, to, [](const KernelModule& module, v1::KernelModule& item) {
    assign_utf8(*item.mutable_name(), module.name);
    if (module.refcount) {
      item.set_refcount(*module.refcount);
    } else {
      item.clear_refcount();
    }
    write_texts(module.used_by, *item.mutable_used_by());
    assign_utf8(*item.mutable_state(), to_string(module.state));
    assign_utf8(*item.mutable_taints(), module.taints);
    item.set_state_since_unix_ms(to_unix_ms(module.state_since));
  });
}

void write_validations(const Fact<std::vector<ValidationMark>>& from, v1::ValidationsFact& to) {
  write_list(from, to, [](const ValidationMark& mark, v1::ValidationMark& item) {
    assign_utf8(*item.mutable_name(), mark.name);
    item.set_written_unix_ms(to_unix_ms(mark.written));
    item.set_host_driver(mark.host_driver);
  });
}

void write_installs(const Fact<std::vector<InstallTrace>>& from, v1::InstallsFact& to) {
  write_list(from, to, [](const InstallTrace& trace, v1::InstallTrace& item) {
    assign_utf8(*item.mutable_kind(), to_string(trace.kind));
    assign_utf8(*item.mutable_part(), to_string(trace.part));
    assign_utf8(*item.mutable_name(), trace.name);
    assign_utf8(*item.mutable_version(), trace.version);
    assign_utf8(*item.mutable_source(), trace.source);
    assign_utf8(*item.mutable_changed_by(), trace.changed_by);
  });
}

}  // namespace gpuskew::wire
