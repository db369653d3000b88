#pragma once

// Kubernetes' JSON, cut up as text before it is parsed. A page of a list is cut into its items, and an object loses its
// managedFields (half of a node's text), by looking for brackets and quotes only: so a page is never a tree in memory,
// and the continue token is known before any item is parsed, wherever it stands: built-in kinds have `metadata` before
// `items`, custom resources behind.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/result.h"

namespace gpuskew {

/// Deeper nesting is refused (TooLarge).
inline constexpr std::size_t kMaxJsonDepth = 200;

struct KubeListPage {
  std::string_view items;  ///< of the page's text: the elements that next_item() takes
  std::string continue_token;
  std::string resource_version;
};

/// Malformed when it is no list of Kubernetes. What is in an item is not looked at yet.
Result<KubeListPage> split_list_page(std::string_view text);

/// Takes the next element from `items`; nothing at the end.
Result<std::optional<std::string_view>> next_item(std::string_view& items);

/// One JSON value and nothing behind it. Malformed, TooLarge.
Result<nlohmann::json> parse_json(std::string_view text);

/// An object of Kubernetes; without metadata.managedFields unless they are wanted.
Result<nlohmann::json> parse_object(std::string_view text, bool keep_managed_fields);

struct KubeWatchLine {
  std::string type;  ///< ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
  nlohmann::json object;
};
Result<KubeWatchLine> parse_watch_line(std::string_view text, bool keep_managed_fields);

/// The text at a chain of keys, "" where there is none.
std::string text_at(const nlohmann::json& value, std::initializer_list<std::string_view> keys);

}  // namespace gpuskew
