// From the wire: what the next boot will bring.

#include "gpuskew/v1/boot_facts.pb.h"
#include "proto/from_wire_facts.h"
#include "proto/wire_read.h"

namespace gpuskew::wire {
namespace {

void read_kernel(v1::InstalledKernel& from, InstalledKernel& to, FieldReader& in) {
  in.parsed(from.release(), to.release, "release");
  to.has_image = from.has_image();
  to.has_headers = from.has_headers();
  to.module_file = read_module_file(*from.mutable_module_file(), "module file");
}

void read_dkms_entry(v1::DkmsEntry& from, DkmsEntry& to, FieldReader& in) {
  in.text(from.mutable_module(), to.module, "module");
  in.prose(from.mutable_version(), to.version);
  in.prose(from.mutable_kernel(), to.kernel);
  in.prose(from.mutable_architecture(), to.architecture);
  in.word(from.stage(), to.stage, &dkms_stage_from, "stage of dkms");
  in.prose(from.mutable_note(), to.note);
}

void read_boot_builder(v1::BootBuilder& from, BootBuilder& to, FieldReader& in) {
  in.text(from.mutable_name(), to.name, "name");
  in.prose(from.mutable_source(), to.source);
}

}  // namespace

Fact<std::vector<InstalledKernel>> read_kernels(v1::InstalledKernelsFact& from, std::string_view field) {
  return read_list<InstalledKernel>(from, field, Snapshot::kMaxKernels, "kernels", read_kernel);
}

Fact<NextKernel> read_next_kernel(v1::NextKernelFact& from, std::string_view field) {
  return read_fact<NextKernel>(from, field, [](v1::NextKernelFact& fact, NextKernel& to, FieldReader& in) {
    in.parsed(fact.known().release(), to.release, "release");
    in.prose(fact.mutable_known()->mutable_rule(), to.rule);
  });
}

Fact<std::vector<DkmsEntry>> read_dkms(v1::DkmsFact& from, std::string_view field) {
  return read_list<DkmsEntry>(from, field, Snapshot::kMaxDkmsEntries, "entries", read_dkms_entry);
}

Fact<std::vector<BootBuilder>> read_boot_builders(v1::BootBuildersFact& from, std::string_view field) {
  return read_list<BootBuilder>(from, field, Snapshot::kMaxBootBuilders, "services", read_boot_builder);
}

Fact<RebootRequired> read_reboot_required(v1::RebootRequiredFact& from, std::string_view field) {
  return read_fact<RebootRequired>(from, field, [](v1::RebootRequiredFact& fact, RebootRequired& to, FieldReader& in) {
    in.texts(fact.mutable_known()->mutable_packages(), to.packages, RebootRequired::kMaxPackages, "packages");
  });
}

}  // namespace gpuskew::wire
