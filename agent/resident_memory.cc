#include "agent/resident_memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace gpuskew {
namespace {

// Only segments that were never writable: those are the file's own bytes. Relocated constants (RELRO) live in a
// writable segment and would come back unrelocated.
int release_read_only_segments(dl_phdr_info* object, std::size_t /*size*/, void* page_size) {
  const std::uintptr_t page = *static_cast<const std::uintptr_t*>(page_size);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) {
      continue;
    }
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    // Advice: where the kernel does not take it, nothing is lost but the saving.
    static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED));
  }
  return 0;
}

}  // namespace

void limit_heaps() {
  ::mallopt(M_ARENA_MAX, 1);
}

void release_unused_memory() {
  ::malloc_trim(0);
  std::uintptr_t page = static_cast<std::uintptr_t>(::getpagesize());
  ::dl_iterate_phdr(release_read_only_segments, &page);
}

}  // namespace gpuskew
