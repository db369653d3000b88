#pragma once

// How a fact is written to the wire. Fields are written in place and nothing is cleared first: a message that is used
// again keeps its memory. Each function therefore writes or clears every field of its message.

#include <cstddef>
#include <string>
#include <vector>

#include <google/protobuf/repeated_ptr_field.h>

#include "core/fact.h"
#include "core/time.h"
#include "core/version.h"
#include "gpuskew/v1/facts.pb.h"
#include "proto/text.h"

namespace gpuskew::wire {

void write_unknown(const Error& from, v1::Unknown& to);

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

/// For facts that are one list of `items`.
template <class T, class WireFact, class WriteItem>
void write_list(const Fact<std::vector<T>>& from, WireFact& to, WriteItem write_item) {
  write_fact(from, to, [write_item](const std::vector<T>& items, WireFact& fact) {
    write_items(items, *fact.mutable_known()->mutable_items(), write_item);
  });
}

void write_texts(const std::vector<std::string>& from, google::protobuf::RepeatedPtrField<std::string>& to);
void write_text(const Fact<std::string>& from, v1::TextFact& to);
void write_time(const Fact<Time>& from, v1::TimeFact& to);
void write_bool(const Fact<bool>& from, v1::BoolFact& to);
void write_flavour(const Fact<ModuleFlavour>& from, v1::TextFact& to);

/// For types whose text() is what they were read from.
template <class T>
void write_parsed(const Fact<T>& from, v1::TextFact& to) {
  write_fact(from, to, [](const T& value, v1::TextFact& fact) { assign_utf8(*fact.mutable_known(), value.text()); });
}

}  // namespace gpuskew::wire
