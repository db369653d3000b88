#pragma once

// Follows a grub script command by command. Only grub_config.cc uses it.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/probes/grub_config.h"
#include "agent/probes/grub_variables.h"
#include "agent/probes/grub_words.h"

namespace gpuskew {

class GrubScript {
 public:
  explicit GrubScript(const GrubSurroundings& surroundings);

  Result<GrubConfig> run(std::string_view text);

 private:
  /// How much of what is read happens.
  enum class Mode : std::uint8_t {
    Skip,   ///< none of it: a branch not taken, a function's body
    Maybe,  ///< it is not known whether it does
    Act,
  };
  using Command = std::vector<GrubWord>;

  // Blocks. They return the word that ended them ("fi", "}"); "" at the end of the text.
  std::string statements(GrubWords& words, bool in_braces);
  bool is_stopped() const { return error_.has_value(); }
  void stop(ErrorCode code, std::string what);
  void branch(GrubWords& words);
  GrubTruth condition(GrubWords& words);
  void loop(GrubWords& words);
  void function(GrubWords& words);
  void menu_entry(GrubWords& words, bool is_submenu);
  Command command(GrubWords& words);

  // Single commands.
  void act(const Command& command);
  bool act_on_variables(std::string_view name, const Command& command);
  bool act_on_files(std::string_view name, const Command& command);
  void act_in_entry(std::string_view name, const Command& command);
  GrubTruth outcome_of(const Command& command);
  void assign(const GrubWord& assignment);
  void change(std::string_view variable, GrubValue value);
  void note_set_options(const Command& command);
  void load_environment(const Command& command);
  void source(const Command& command);
  void hand_over(const Command& command);
  void add_loader_entries(const Command& command);
  void add_kernel(const Command& command, std::size_t path_at);

  std::vector<GrubValue> arguments(const Command& command, std::size_t from) const;
  GrubEntry described(const Command& command, bool is_submenu) const;
  GrubTruth test_file(const std::string& path) const;

  const GrubSurroundings& surroundings_;
  GrubVariables variables_;
  GrubConfig config_;
  std::vector<GrubEntry>* menu_;  ///< the level being filled
  GrubEntry* entry_ = nullptr;    ///< the entry whose body is read
  Mode mode_ = Mode::Act;
  std::map<std::string, std::set<std::string>, std::less<>> functions_;  ///< and the variables they change
  std::set<std::string>* changed_ = nullptr;                             ///< of the function being read
  std::size_t entries_ = 0;
  int depth_ = 0;
  int sourced_ = 0;
  std::optional<Error> error_;
};

}  // namespace gpuskew
