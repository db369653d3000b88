#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/facts/runtime.h"

namespace gpuskew {

/// Remembers what specifications said for as long as they are the same file.
class CdiSpecCache {
 public:
  Result<CdiSpec> read(const HostRoot& root, const std::string& path, const FileStatus& status);

 private:
  struct Entry {
    FileStatus status;
    CdiSpec spec;
  };
  std::map<std::string, Entry> entries_;
};

/// The specifications of NVIDIA's devices among the *.yaml and *.json of etc/cdi, var/run/cdi and run/cdi, by path. One
/// seen in two of them is listed once. A file without a kind is no specification to those who read them, either. Known
/// and empty: none. Unknown: a directory or file can not be read, or is past the limits. `cache` may be null.
Fact<std::vector<CdiSpec>> read_cdi_specs(const HostRoot& root, CdiSpecCache* cache);

}  // namespace gpuskew
