#pragma once

namespace gpuskew {

/// Keeps libprotobuf from writing to standard error by itself: what a hostile peer sends would become lines there, past
/// our log and its rate limit. Every failure it speaks of reaches us as a return value, too. Call once, in main.
void silence_wire_log();

}  // namespace gpuskew
