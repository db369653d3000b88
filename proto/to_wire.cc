#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "proto/text.h"

// Fields are written in place and nothing is cleared first: a message that is used again keeps its memory. Each
// function therefore writes or clears every field of its message.

namespace gpuskew {
namespace {

void write_unknown(const Error& from, v1::Unknown& to) {
  assign_utf8(*to.mutable_code(), to_string(from.code));
  assign_utf8(*to.mutable_because(), from.what);
}

/// `write_known(value, wire fact)` writes the known case.
template <class T, class WireFact, class WriteKnown>
void write_fact(const Fact<T>& from, WireFact& to, WriteKnown write_known) {
  assign_utf8(*to.mutable_source(), from.source());
  if (from.is_known()) {
    write_known(from.value(), to);
  } else if (from.is_absent()) {
    to.mutable_absent();
  } else {
    write_unknown(from.why(), *to.mutable_unknown());
  }
}

void write_text(const Fact<std::string>& from, v1::TextFact& to) {
  write_fact(from, to, [](const std::string& value, v1::TextFact& fact) { assign_utf8(*fact.mutable_known(), value); });
}

/// For types whose text() is what they were read from.
template <class T>
void write_parsed(const Fact<T>& from, v1::TextFact& to) {
  write_fact(from, to, [](const T& value, v1::TextFact& fact) { assign_utf8(*fact.mutable_known(), value.text()); });
}

void write_time(const Fact<Time>& from, v1::TimeFact& to) {
  write_fact(from, to, [](Time value, v1::TimeFact& fact) { fact.set_known_unix_ms(to_unix_ms(value)); });
}

void write_flavour(const Fact<ModuleFlavour>& from, v1::TextFact& to) {
  write_fact(from, to,
             [](ModuleFlavour value, v1::TextFact& fact) { assign_utf8(*fact.mutable_known(), to_string(value)); });
}

void write_os(const OsIdentity& from, v1::OsFact& fact) {
  v1::Os& to = *fact.mutable_known();
  assign_utf8(*to.mutable_id(), from.id);
  if (from.version_id) {
    assign_utf8(*to.mutable_version_id(), *from.version_id);
  } else {
    to.clear_version_id();
  }
  assign_utf8(*to.mutable_pretty_name(), from.pretty_name);
  assign_utf8(*to.mutable_variant_id(), from.variant_id);
  assign_utf8(*to.mutable_build_id(), from.build_id);
  assign_utf8(*to.mutable_ostree_version(), from.ostree_version);
}

void write_module_file(const ModuleFile& from, v1::ModuleFileFact& fact) {
  v1::ModuleFile& to = *fact.mutable_known();
  assign_utf8(*to.mutable_path(), from.path);
  write_parsed(from.version, *to.mutable_version());
}

/// Makes `to` as long as `from` and writes each item over the one that is there. RepeatedPtrField::Clear would free
/// what the items hold.
template <class T, class WireItem, class WriteItem>
void write_items(const std::vector<T>& from, google::protobuf::RepeatedPtrField<WireItem>& to, WriteItem write_item) {
  const int size = static_cast<int>(from.size());
  while (to.size() > size) {
    to.RemoveLast();
  }
  for (int at = 0; at < size; ++at) {
    WireItem& item = at < to.size() ? *to.Mutable(at) : *to.Add();
    write_item(from[static_cast<std::size_t>(at)], item);
  }
}

void write_libraries(const std::vector<Library>& from, v1::LibrariesFact& fact) {
  write_items(from, *fact.mutable_known()->mutable_items(), [](const Library& library, v1::Library& to) {
    assign_utf8(*to.mutable_name(), library.name);
    assign_utf8(*to.mutable_version(), library.version.text());
    assign_utf8(*to.mutable_path(), library.path);
    to.set_from_container(library.root == DriverRoot::Container);
  });
}

void write_container(const DriverContainer& from, v1::DriverContainerFact& fact) {
  v1::DriverContainer& to = *fact.mutable_known();
  assign_utf8(*to.mutable_root(), from.root);
  to.set_mounted(from.mounted);
}

void write_gpus(const std::vector<Gpu>& from, v1::GpusFact& fact) {
  write_items(from, *fact.mutable_known()->mutable_items(), [](const Gpu& gpu, v1::Gpu& to) {
    assign_utf8(*to.mutable_address(), gpu.address);
    to.set_device_id(gpu.device_id);
    write_text(gpu.driver, *to.mutable_driver());
  });
}

}  // namespace

void to_wire(const Snapshot& from, v1::Snapshot& to) {
  assign_utf8(*to.mutable_node(), from.node);
  assign_utf8(*to.mutable_agent_version(), from.agent_version);
  to.set_taken_unix_ms(to_unix_ms(from.taken_at));
  write_text(from.boot_id, *to.mutable_boot_id());
  write_time(from.boot_time, *to.mutable_boot_time());
  write_parsed(from.kernel, *to.mutable_kernel());
  write_text(from.architecture, *to.mutable_architecture());
  write_fact(from.os, *to.mutable_os(), write_os);
  write_parsed(from.loaded_driver, *to.mutable_loaded_driver());
  write_flavour(from.loaded_flavour, *to.mutable_loaded_flavour());
  write_text(from.l4t_release, *to.mutable_l4t_release());
  write_fact(from.module_file, *to.mutable_module_file(), write_module_file);
  write_fact(from.libraries, *to.mutable_libraries(), write_libraries);
  write_fact(from.driver_container, *to.mutable_driver_container(), write_container);
  write_fact(from.gpus, *to.mutable_gpus(), write_gpus);
  if (from.remembered) {
    to_wire(*from.remembered, *to.mutable_remembered());
  } else {
    to.clear_remembered();
  }
}

void to_wire(const LastGood& from, v1::LastGood& to) {
  to.set_at_unix_ms(to_unix_ms(from.at));
  assign_utf8(*to.mutable_boot_id(), from.boot_id);
  assign_utf8(*to.mutable_kernel(), from.kernel.text());
  assign_utf8(*to.mutable_driver(), from.driver.text());
  if (from.gpu_count) {
    to.set_gpu_count(*from.gpu_count);
  } else {
    to.clear_gpu_count();
  }
  to.set_from_container(from.from_container);
}

std::string encode(const LastGood& value) {
  v1::LastGood wire;
  to_wire(value, wire);
  return wire.SerializeAsString();
}

}  // namespace gpuskew
