#pragma once

// Databases as rpm itself writes them, for tests: packages built by rpmbuild, put into a private database by rpm.

#include <filesystem>
#include <string>
#include <vector>

namespace gpuskew {

struct StubPackage {
  std::string name;
  std::string version;
  std::string release;

  bool operator==(const StubPackage&) const = default;
};

/// An rpmdb.sqlite in `folder`. Throws when rpmbuild or rpm fail: packaging/install-deps --tests brings them.
void make_rpm_database(const std::filesystem::path& folder, const std::vector<StubPackage>& packages);

/// `rpm -qa` of a database, "name-version-release.arch" by name; `backend` "" for rpm's own choice.
std::vector<std::string> rpm_says(const std::filesystem::path& folder, const std::string& backend = "");

/// Every package's header in an rpmdb.sqlite, in order.
std::vector<std::string> rpm_headers(const std::filesystem::path& database);

/// The same headers as the other kinds of databases hold them. The Berkeley DB is made by libdb's own db5.3_load.
void make_bdb(const std::filesystem::path& file, const std::vector<std::string>& headers);
std::string ndb_bytes(const std::vector<std::string>& headers);

}  // namespace gpuskew
