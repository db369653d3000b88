#pragma once

// One CDI specification, YAML or JSON, as it comes block by block: a node with many GPUs and MIG devices has half a
// megabyte of them, of which three things are wanted.

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuskew {

class CdiSpecScanner {
 public:
  void feed(std::string_view block);
  void finish();

  /// Once finished: why those who read specifications can not take this one ("it has no kind"); "" for a whole one. Not
  /// a parser's verdict: what a file that was cut off, or is no specification at all, can not hide.
  std::string problem() const;
  /// Whether "nvidia" stands anywhere in it.
  bool names_nvidia() const { return names_nvidia_; }

  /// "nvidia.com/gpu"; "" when there was none.
  const std::string& kind() const { return kind_; }
  /// Entries of the list "devices".
  std::uint32_t devices() const { return devices_; }
  /// Of the first libcuda.so.<version> named, else of libnvidia-ml.so.<version>: "550.90.07"; "" for none.
  const std::string& driver_version() const { return cuda_.empty() ? ml_ : cuda_; }

 private:
  void take_json(char c);
  void end_json_string();
  void take_yaml(char c);
  void end_yaml_line();
  void look_at(std::string_view text);

  enum class Form : std::uint8_t { Unknown, Yaml, Json };
  Form form_ = Form::Unknown;
  std::string text_;  ///< the line, or the string, that is being read; cut at a limit
  std::string kind_;
  std::string cuda_;
  std::string ml_;
  std::uint32_t devices_ = 0;
  bool names_nvidia_ = false;
  bool has_devices_ = false;  ///< the key, whatever its list holds
  bool has_nul_ = false;

  // JSON
  std::size_t depth_ = 0;
  bool has_ended_ = false;  ///< the outermost bracket is closed
  bool is_broken_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
  std::string last_string_;  ///< a key, once its ':' has come
  std::string top_key_;      ///< the key at depth 1 whose value is being read

  // YAML
  std::string section_;          ///< the key at the margin
  std::size_t item_indent_ = 0;  ///< of the first "- " in section_
  bool has_item_ = false;
  bool is_stray_ = false;  ///< a line at the margin was no key
};

}  // namespace gpuskew
