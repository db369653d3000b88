#pragma once

// The cases from the field under tests/fixtures/cases: one folder a case, `expected.md` says what is right and why.

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/os_release.h"
#include "core/tag.h"
#include "core/version.h"

namespace gpuskew::test {

inline std::string case_file(const std::string& folder, const std::string& file) {
  const std::string path = std::string(GPUSKEW_FIXTURES) + "/cases/" + folder + "/" + file;
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << "can not open " << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline KernelRelease case_kernel(const std::string& folder, const std::string& file = "uname.txt") {
  return KernelRelease::parse(case_file(folder, file)).value();
}

inline OsIdentity case_os(const std::string& folder, const std::string& file = "os-release") {
  return os_identity(parse_os_release(case_file(folder, file))).value();
}

inline OperatorVersion operator_version(std::string_view text) {
  return OperatorVersion::parse(text).value();
}

/// The OS tag by the plain rule, or by that of an operator version.
inline std::string os_tag_text(const OsIdentity& os, std::string_view version = "") {
  const auto chosen = version.empty() ? std::nullopt : std::optional(operator_version(version));
  return os_tag(os, chosen).value().text;
}

template <class T>
Fact<T> known(T value) {
  return Fact<T>::known(std::move(value), "test");
}

inline Fact<DriverVersion> driver(std::string_view text) {
  return known(DriverVersion::parse(text).value());
}

inline bool any_holds(const std::vector<std::string>& notes, std::string_view text) {
  for (const std::string& note : notes) {
    if (note.find(text) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace gpuskew::test
