#include "runtime/yaml.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace gpuskew {

/// One map of the document, its place for messages, and the keys that were asked for.
struct YamlMap::Node {
  YAML::Node yaml;     // undefined: the map is not there
  std::string prefix;  // "agents."
  std::set<std::string, std::less<>> known;
};

struct YamlMap::Document {
  std::string file;
  std::optional<Error> error;
  std::vector<std::shared_ptr<Node>> maps;  // in the order they were asked for

  void report(const YAML::Mark& mark, const std::string& what) {
    if (!error) {
      const std::string line = mark.is_null() ? "" : std::to_string(mark.line + 1) + ":";
      error = Error{ErrorCode::Malformed, file + ":" + line + " " + what};
    }
  }
};

namespace {

/// Notes where the document's content begins.
class DocumentStart : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
  const YAML::Mark& mark() const { return mark_; }

 private:
  YAML::Mark mark_;
};

/// Where a second document begins. Not by YAML::LoadAll: yaml-cpp 0.7 never ends on ", x", which it does not consume.
std::optional<YAML::Mark> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStart first;
  DocumentStart second;
  if (parser.HandleNextDocument(first) && parser.HandleNextDocument(second)) {
    return second.mark();
  }
  return std::nullopt;
}

struct Entry {
  YAML::Node key;
  YAML::Node value{YAML::NodeType::Undefined};
};

/// yaml-cpp's operator[] would add the key to a map that is not const.
Entry entry_of(const YAML::Node& map, std::string_view key) {
  if (map.IsDefined() && map.IsMap()) {
    for (const auto& entry : map) {
      if (entry.first.IsScalar() && entry.first.Scalar() == key) {
        return Entry{entry.first, entry.second};
      }
    }
  }
  return Entry{};
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMaxShown = 80;
  return "'" + std::string(text.substr(0, kMaxShown)) + (text.size() > kMaxShown ? "..." : "") + "'";
}

}  // namespace

YamlMap::YamlMap(std::shared_ptr<Document> document, std::shared_ptr<Node> node)
    : document_(std::move(document)), node_(std::move(node)) {}

Result<YamlMap> YamlMap::parse(std::string file, std::string_view text) {
  if (text.size() > kMaxYamlBytes) {
    return fail(ErrorCode::TooLarge, file + ": longer than " + std::to_string(kMaxYamlBytes) + " bytes");
  }
  auto document = std::make_shared<Document>();
  document->file = std::move(file);
  auto root = std::make_shared<Node>();
  try {
    const std::string copy(text);
    root->yaml = YAML::Load(copy);
    if (const auto second = second_document(copy)) {
      document->report(*second, "a second document begins; only one is read");
    }
  } catch (const YAML::Exception& error) {
    document->report(error.mark, error.msg);
  }
  if (!document->error && !root->yaml.IsNull() && !root->yaml.IsMap()) {
    document->report(root->yaml.Mark(), "expected 'key: value' lines");
  }
  if (document->error) {
    return tl::unexpected(*document->error);
  }
  document->maps.push_back(root);
  return YamlMap(std::move(document), std::move(root));
}

bool YamlMap::has(std::string_view key) const {
  return entry_of(node_->yaml, key).value.IsDefined();
}

void YamlMap::report(std::string_view key, std::string_view problem) {
  // The key's own line: the mark of a value that is not there is where the next token begins.
  const Entry entry = entry_of(node_->yaml, key);
  const YAML::Node& place = entry.value.IsDefined() ? entry.key : node_->yaml;
  const YAML::Mark mark = place.IsDefined() ? place.Mark() : YAML::Mark::null_mark();
  document_->report(mark, node_->prefix + std::string(key) + ": " + std::string(problem));
}

YamlMap YamlMap::map(std::string_view key) {
  node_->known.emplace(key);
  auto nested = std::make_shared<Node>();
  nested->yaml = entry_of(node_->yaml, key).value;
  nested->prefix = node_->prefix + std::string(key) + ".";
  if (nested->yaml.IsDefined() && !nested->yaml.IsNull() && !nested->yaml.IsMap()) {
    report(key, "expected a map of keys");
  }
  document_->maps.push_back(nested);
  return YamlMap(document_, std::move(nested));
}

std::optional<std::string> YamlMap::scalar(std::string_view key) {
  node_->known.emplace(key);
  const YAML::Node value = entry_of(node_->yaml, key).value;
  if (document_->error || !value.IsDefined()) {
    return std::nullopt;
  }
  if (!value.IsScalar()) {
    report(key, value.IsNull() ? "has no value" : "expected one value, not a list or a map");
    return std::nullopt;
  }
  return value.Scalar();
}

void YamlMap::text(std::string_view key, std::string& into) {
  if (auto value = scalar(key)) {
    into = std::move(*value);
  }
}

void YamlMap::optional_text(std::string_view key, std::optional<std::string>& into) {
  if (auto value = scalar(key)) {
    into = std::move(*value);
  }
}

void YamlMap::path(std::string_view key, std::filesystem::path& into) {
  const auto value = scalar(key);
  if (!value) {
    return;
  }
  if (value->empty() || value->find('\0') != std::string::npos) {
    report(key, "is not a path");
    return;
  }
  into = *value;
}

void YamlMap::boolean(std::string_view key, bool& into) {
  const auto value = scalar(key);
  if (!value) {
    return;
  }
  if (*value != "true" && *value != "false") {
    report(key, shown(*value) + " is not true or false");
    return;
  }
  into = *value == "true";
}

void YamlMap::integer(std::string_view key, std::int64_t min, std::int64_t max, std::int64_t& into) {
  const auto value = scalar(key);
  if (!value) {
    return;
  }
  std::int64_t number = 0;
  const char* const end = value->data() + value->size();
  const auto parsed = std::from_chars(value->data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < min || number > max) {
    report(key, shown(*value) + " is not a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    return;
  }
  into = number;
}

void YamlMap::duration(std::string_view key, Duration min, Duration max, Duration& into) {
  const auto value = scalar(key);
  if (!value) {
    return;
  }
  const auto parsed = parse_duration(*value);
  if (!parsed) {
    report(key, parsed.error().what);
    return;
  }
  if (*parsed < min || *parsed > max) {
    report(key, shown(*value) + " is not from " + to_short_text(min) + " to " + to_short_text(max));
    return;
  }
  into = *parsed;
}

void YamlMap::choice(std::string_view key, std::initializer_list<std::string_view> choices, std::string& into) {
  auto value = scalar(key);
  if (!value) {
    return;
  }
  if (std::find(choices.begin(), choices.end(), *value) == choices.end()) {
    std::string problem = shown(*value) + " is not one of";
    for (const std::string_view word : choices) {
      problem += std::string(word == *choices.begin() ? " " : ", ") + std::string(word);
    }
    report(key, problem);
    return;
  }
  into = std::move(*value);
}

Result<void> YamlMap::finish() {
  for (const auto& map : document_->maps) {
    if (!map->yaml.IsDefined() || !map->yaml.IsMap()) {
      continue;
    }
    std::set<std::string> seen;
    for (const auto& entry : map->yaml) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "(not a word)";
      if (!map->known.contains(key)) {
        document_->report(entry.first.Mark(), map->prefix + key + ": no such setting");
      } else if (!seen.insert(key).second) {
        document_->report(entry.first.Mark(), map->prefix + key + ": is there twice");
      }
    }
  }
  return document_->error ? Result<void>(tl::unexpected(*document_->error)) : Result<void>();
}

}  // namespace gpuskew
