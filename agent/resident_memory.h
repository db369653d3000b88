#pragma once

// The agent's 8 MiB on every GPU node of a fleet.

namespace gpuskew {

/// To be called before anything allocates or starts a thread: one heap for all threads. A name look-up has a thread of
/// its own, whose heap would stay.
void limit_heaps();

/// Gives back what start-up or a TLS handshake used and idling does not: free heap, and the pages of code and constants
/// (flags, YAML, certificates, ciphers: most of the program). What is needed again is mapped again from the page cache,
/// a microsecond a page.
void release_unused_memory();

}  // namespace gpuskew
