#pragma once

// Configuration text -> plain structs, strictly: an unknown key or a wrong type is an error that names the line and the
// key, because a misspelt "max_conections" that is silently ignored is found at 3 a.m.

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

inline constexpr std::size_t kMaxYamlBytes = std::size_t{1} << 20;

/// One map of a document, read key by key. A key that is not there leaves `into` as it is: defaults live in the struct.
/// The first error sticks, and later reads do nothing; finish() on any map of the document returns it:
///
///   auto root = YamlMap::parse(path, text);
///   YamlMap agents = root->map("agents");
///   agents.text("listen", config.listen);
///   agents.integer("max_connections", 1, 60000, config.max_connections);
///   if (auto read = root->finish(); !read) { return ...; }
///
/// Errors read "FILE:LINE: agents.max_connections: ...". Copies refer to the same document.
class YamlMap {
 public:
  /// One document whose top is a map; an empty file is an empty map. `file` is only for messages. TooLarge past
  /// kMaxYamlBytes; Malformed for a syntax error, a second document, or a top that is no map.
  static Result<YamlMap> parse(std::string file, std::string_view text);

  /// Whether the key is there. Does not make it a known key.
  bool has(std::string_view key) const;

  /// A nested map; an empty one (every key absent) when the key is missing or has no value.
  YamlMap map(std::string_view key);
  void text(std::string_view key, std::string& into);
  void optional_text(std::string_view key, std::optional<std::string>& into);
  /// Not empty. A relative path is used as it is.
  void path(std::string_view key, std::filesystem::path& into);
  /// true or false, nothing else: "yes" and "on" are not YAML 1.2.
  void boolean(std::string_view key, bool& into);
  /// Decimal digits, min <= value <= max.
  void integer(std::string_view key, std::int64_t min, std::int64_t max, std::int64_t& into);
  /// As parse_duration() reads it ("30s"), min <= value <= max.
  void duration(std::string_view key, Duration min, Duration max, Duration& into);
  /// One of a few words.
  void choice(std::string_view key, std::initializer_list<std::string_view> choices, std::string& into);

  /// Reports `problem` at `key` (or at this map, when the key is not there), for rules that only the caller knows. An
  /// earlier error stays.
  void report(std::string_view key, std::string_view problem);

  /// The first error; else the first key of any map that nobody asked for.
  Result<void> finish();

 private:
  struct Document;
  struct Node;
  YamlMap(std::shared_ptr<Document> document, std::shared_ptr<Node> node);
  /// The scalar at `key`, when it is there and good so far.
  std::optional<std::string> scalar(std::string_view key);

  std::shared_ptr<Document> document_;
  std::shared_ptr<Node> node_;
};

}  // namespace gpuskew
