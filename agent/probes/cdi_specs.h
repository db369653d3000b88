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
    Result<CdiSpec> spec;  ///< or why the file is none
  };
  std::map<std::string, Entry> entries_;
};

/// The specifications of NVIDIA's devices among the *.yaml and *.json of etc/cdi, var/run/cdi and run/cdi, by path. One
/// seen in two of them is listed once. A file that is no specification counts as none, unless its name or text says
/// that it was to be one of NVIDIA's. Known and empty: none. Unknown: a directory or file can not be read, is past the
/// limits, or is such a broken one. `cache` may be null.
Fact<std::vector<CdiSpec>> read_cdi_specs(const HostRoot& root, CdiSpecCache* cache);

}  // namespace gpuskew
