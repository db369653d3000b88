#pragma once

// The kernel's own events: modules, PCI devices and drivers that come and go.

#include <string>
#include <string_view>

namespace gpuskew {

/// Whether a uevent of the kernel ("remove@/module/nvidia", NUL, "SUBSYSTEM=module", NUL, ...) can change a fact.
bool is_relevant_uevent(std::string_view message);

/// Why a socket of this process may hear none; "" when they come. The kernel sends them into every network namespace
/// that belongs to the initial user namespace, so into a container's own, too, and into no other (since Linux 4.18).
std::string uevents_doubt();

}  // namespace gpuskew
