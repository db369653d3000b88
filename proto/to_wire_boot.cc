// To the wire: what the next boot will bring.

#include "gpuskew/v1/boot_facts.pb.h"
#include "proto/to_wire_facts.h"
#include "proto/wire_write.h"

namespace gpuskew::wire {

void write_kernels(const Fact<std::vector<InstalledKernel>>& from, v1::InstalledKernelsFact& to) {
  write_list(from, to, [](const InstalledKernel& kernel, v1::InstalledKernel& item) {
    assign_utf8(*item.mutable_release(), kernel.release.text());
    item.set_has_image(kernel.has_image);
    item.set_has_headers(kernel.has_headers);
    write_module_file(kernel.module_file, *item.mutable_module_file());
  });
}

void write_next_kernel(const Fact<NextKernel>& from, v1::NextKernelFact& to) {
  write_fact(from, to, [](const NextKernel& next, v1::NextKernelFact& fact) {
    assign_utf8(*fact.mutable_known()->mutable_release(), next.release.text());
    assign_utf8(*fact.mutable_known()->mutable_rule(), next.rule);
  });
}

void write_dkms(const Fact<std::vector<DkmsEntry>>& from, v1::DkmsFact& to) {
  write_list(from, to, [](const DkmsEntry& entry, v1::DkmsEntry& item) {
    assign_utf8(*item.mutable_module(), entry.module);
    assign_utf8(*item.mutable_version(), entry.version);
    assign_utf8(*item.mutable_kernel(), entry.kernel);
    assign_utf8(*item.mutable_architecture(), entry.architecture);
    assign_utf8(*item.mutable_stage(), to_string(entry.stage));
    assign_utf8(*item.mutable_note(), entry.note);
  });
}

void write_boot_builders(const Fact<std::vector<BootBuilder>>& from, v1::BootBuildersFact& to) {
  write_list(from, to, [](const BootBuilder& builder, v1::BootBuilder& item) {
    assign_utf8(*item.mutable_name(), builder.name);
    assign_utf8(*item.mutable_source(), builder.source);
  });
}

void write_reboot_required(const Fact<RebootRequired>& from, v1::RebootRequiredFact& to) {
  write_fact(from, to, [](const RebootRequired& mark, v1::RebootRequiredFact& fact) {
    write_texts(mark.packages, *fact.mutable_known()->mutable_packages());
  });
}

}  // namespace gpuskew::wire
