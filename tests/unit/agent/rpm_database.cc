#include "tests/unit/agent/rpm_database.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "tests/support/process.h"

namespace gpuskew {
namespace {

void write_file(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

Outcome checked(const std::vector<std::string>& command) {
  Outcome outcome = run(command);
  if (outcome.code != 0) {
    throw std::runtime_error(command.front() + ": " + outcome.err);
  }
  return outcome;
}

// One source package with all of them as subpackages: one run of rpmbuild.
std::string spec_of(const std::vector<StubPackage>& packages) {
  std::string spec =
      "Name: stub\nVersion: 1\nRelease: 1\nSummary: stub\nLicense: none\nBuildArch: noarch\n%description\nstub\n";
  for (const StubPackage& package : packages) {
    spec += "%package -n " + package.name + "\nVersion: " + package.version + "\nRelease: " + package.release +
            "\nSummary: stub\n%description -n " + package.name + "\nstub\n%files -n " + package.name + "\n";
  }
  return spec;
}

std::string little_endian_bytes(std::uint32_t value) {
  std::string bytes;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    bytes += static_cast<char>((value >> shift) & 0xffU);
  }
  return bytes;
}

std::string hex(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[(static_cast<unsigned char>(c) >> 4) & 0xfU];
    text += kDigits[static_cast<unsigned char>(c) & 0xfU];
  }
  return text;
}

}  // namespace

void make_rpm_database(const std::filesystem::path& folder, const std::vector<StubPackage>& packages) {
  const std::filesystem::path work = folder / ".rpmbuild";
  std::filesystem::create_directories(work);
  write_file(work / "stub.spec", spec_of(packages));
  checked({"rpmbuild", "--quiet", "--define", "_topdir " + work.string(), "-bb", (work / "stub.spec").string()});
  std::vector<std::string> install = {"rpm", "--dbpath", folder.string(), "-i", "--justdb", "--nodeps", "--noscripts"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(work / "RPMS")) {
    if (entry.path().extension() == ".rpm") {
      install.push_back(entry.path().string());
    }
  }
  checked(install);
  std::filesystem::remove_all(work);
}

std::vector<std::string> rpm_says(const std::filesystem::path& folder, const std::string& backend) {
  std::vector<std::string> command = {"rpm", "--dbpath", folder.string(), "-qa"};
  if (!backend.empty()) {
    command.insert(command.begin() + 1, {"--define", "_db_backend " + backend});
  }
  std::istringstream lines(checked(command).out);
  std::vector<std::string> packages;
  for (std::string line; std::getline(lines, line);) {
    packages.push_back(line);
  }
  std::sort(packages.begin(), packages.end());
  return packages;
}

std::vector<std::string> rpm_headers(const std::filesystem::path& database) {
  sqlite3* raw = nullptr;
  if (sqlite3_open_v2(database.c_str(), &raw, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) {
    throw std::runtime_error("opening " + database.string());
  }
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> owner(raw, &sqlite3_close);
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(raw, "select blob from Packages order by hnum", -1, &statement, nullptr);
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> query(statement, &sqlite3_finalize);
  std::vector<std::string> headers;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    headers.emplace_back(static_cast<const char*>(sqlite3_column_blob(statement, 0)),
                         static_cast<std::size_t>(sqlite3_column_bytes(statement, 0)));
  }
  return headers;
}

void make_bdb(const std::filesystem::path& file, const std::vector<std::string>& headers) {
  std::string dump = "VERSION=3\nformat=bytevalue\ntype=hash\ndb_pagesize=4096\nHEADER=END\n";
  dump += " " + hex(little_endian_bytes(0)) + "\n " +
          hex(little_endian_bytes(static_cast<std::uint32_t>(headers.size()))) + "\n";
  for (std::size_t i = 0; i < headers.size(); ++i) {
    dump += " " + hex(little_endian_bytes(static_cast<std::uint32_t>(i + 1))) + "\n " + hex(headers[i]) + "\n";
  }
  const std::filesystem::path text = file.string() + ".dump";
  write_file(text, dump + "DATA=END\n");
  checked({"db5.3_load", "-f", text.string(), file.string()});
  std::filesystem::remove(text);
}

std::string ndb_bytes(const std::vector<std::string>& headers) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kBlock = 16;
  const std::size_t pages = (headers.size() + 2) * 16 / kPage + 1;
  std::string slots = "RpmP" + little_endian_bytes(0) + little_endian_bytes(7) +
                      little_endian_bytes(static_cast<std::uint32_t>(pages)) +
                      little_endian_bytes(static_cast<std::uint32_t>(headers.size() + 1)) + std::string(12, '\0');
  std::string blobs;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(i + 1);
    const auto length = static_cast<std::uint32_t>(headers[i].size());
    std::string blob =
        "BlbS" + little_endian_bytes(number) + little_endian_bytes(7) + little_endian_bytes(length) + headers[i];
    blob.resize((blob.size() + 12 + kBlock - 1) / kBlock * kBlock - 12, '\0');
    blob += little_endian_bytes(0) + little_endian_bytes(length) + "BlbE";
    slots += "Slot" + little_endian_bytes(number) +
             little_endian_bytes(static_cast<std::uint32_t>((pages * kPage + blobs.size()) / kBlock)) +
             little_endian_bytes(static_cast<std::uint32_t>(blob.size() / kBlock));
    blobs += blob;
  }
  while (slots.size() < pages * kPage) {
    slots += "Slot" + std::string(12, '\0');
  }
  return slots + blobs;
}

}  // namespace gpuskew
