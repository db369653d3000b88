#pragma once

// The variables of a grub script that is being followed, and the conditions over them.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/probes/grub_menu.h"
#include "agent/probes/grub_words.h"

namespace gpuskew {

class GrubVariables {
 public:
  GrubVariables(const std::string& directory, std::optional<bool> is_efi);

  GrubValue get(std::string_view name) const;
  void set(std::string_view name, GrubValue value);
  void set_unknown(std::string_view name);
  /// From here on any variable the script has not set itself may have any value (an environment block that could not
  /// be read was loaded).
  void lose_all();

  /// The word's value; nullopt for a word that vanishes (an unquoted variable that is empty).
  std::optional<GrubValue> expand(const GrubWord& word) const;

 private:
  std::map<std::string, GrubValue, std::less<>> values_;
  bool others_unknown_ = false;
};

enum class GrubTruth : std::uint8_t { No, Yes, Unknown };

/// What is there beneath the configuration's directory: true for a file that is not empty. Unknown elsewhere.
using GrubFileTest = std::function<GrubTruth(const std::string& path)>;

/// The outcome of `[ ... ]`, without the brackets.
GrubTruth grub_test(const std::vector<GrubValue>& arguments, const GrubFileTest& file_test);

}  // namespace gpuskew
