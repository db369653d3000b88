#include "agent/probes/package_cache.h"

#include <utility>

namespace gpuskew {

Result<InstallTraces> PackageCache::get(const std::string& key, const std::vector<FileStatus>& files,
                                        const Read& read) {
  const auto known = entries_.find(key);
  const bool same = known != entries_.end() && known->second.files == files;
  if (same && (known->second.traces || known->second.attempts >= kMaxAttempts)) {
    return known->second.traces;
  }
  const int attempts = same ? known->second.attempts + 1 : 1;
  if (known == entries_.end() && entries_.size() >= kMaxEntries) {
    entries_.clear();
  }
  return entries_.insert_or_assign(key, Entry{files, read(), attempts}).first->second.traces;
}

}  // namespace gpuskew
