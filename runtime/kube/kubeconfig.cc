#include "runtime/kube/kubeconfig.h"

#include <algorithm>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "runtime/kube/base64.h"

namespace gpuskew {

struct KubeconfigMap::Document {
  std::filesystem::path file;
  std::optional<Error> error;
};

struct KubeconfigMap::Node {
  YAML::Node yaml;     // undefined: the map is not there
  std::string prefix;  // "users[ops].user."
};

namespace {

struct Refused {
  YAML::Mark mark;
  ErrorCode code;
  std::string_view what;
};

/// Reads the text without building anything of it.
class ShapeCheck : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { count(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{mark, ErrorCode::Malformed, "an alias; write the value out"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override {
    count(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    enter(mark);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    enter(mark);
  }
  void OnMapEnd() override { --depth_; }

 private:
  void count(const YAML::Mark& mark) {
    if (++values_ > kMaxKubeconfigValues) {
      throw Refused{mark, ErrorCode::TooLarge, "more values than any kubeconfig has"};
    }
  }
  void enter(const YAML::Mark& mark) {
    count(mark);
    if (++depth_ > kMaxKubeconfigDepth) {
      throw Refused{mark, ErrorCode::TooLarge, "nested deeper than any kubeconfig is"};
    }
  }

  std::size_t depth_ = 0;
  std::size_t values_ = 0;
};

YAML::Node load(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  ShapeCheck check;
  parser.HandleNextDocument(check);
  return YAML::Load(text);
}

tl::unexpected<Error> fail_at(const std::filesystem::path& file, const YAML::Mark& mark, ErrorCode code,
                              std::string_view what) {
  const std::string line = mark.is_null() ? "" : ":" + std::to_string(mark.line + 1);
  return fail(code, file.string() + line + ": " + std::string(what));
}

YAML::Node value_of(const YAML::Node& map, std::string_view key) {
  if (map.IsDefined() && map.IsMap()) {
    for (const auto& entry : map) {
      if (entry.first.IsScalar() && entry.first.Scalar() == key) {
        return entry.second;
      }
    }
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

bool is_missing(const YAML::Node& node) {
  return !node.IsDefined() || node.IsNull();
}

}  // namespace

KubeconfigMap::KubeconfigMap(std::shared_ptr<Document> document, std::shared_ptr<Node> node)
    : document_(std::move(document)), node_(std::move(node)) {}

std::string KubeconfigMap::place(std::string_view key) const {
  return document_->file.string() + ": " + node_->prefix + std::string(key);
}

void KubeconfigMap::report(std::string_view key, ErrorCode code, std::string_view problem) const {
  if (!document_->error) {
    document_->error = Error{code, place(key) + ": " + std::string(problem)};
  }
}

const std::optional<Error>& KubeconfigMap::error() const {
  return document_->error;
}

bool KubeconfigMap::has(std::string_view key) const {
  return !is_missing(value_of(node_->yaml, key));
}

std::optional<std::string> KubeconfigMap::scalar(std::string_view key) const {
  const YAML::Node value = value_of(node_->yaml, key);
  if (is_missing(value)) {
    return std::nullopt;
  }
  if (!value.IsScalar()) {
    report(key, ErrorCode::Malformed, "expected text");
    return std::nullopt;
  }
  if (value.Scalar().find('\0') != std::string::npos) {
    report(key, ErrorCode::Malformed, "a NUL character");
    return std::nullopt;
  }
  return value.Scalar();
}

std::string KubeconfigMap::text(std::string_view key) const {
  return scalar(key).value_or("");
}

bool KubeconfigMap::boolean(std::string_view key) const {
  const auto value = scalar(key);
  if (value && *value != "true" && *value != "false") {
    report(key, ErrorCode::Malformed, "expected true or false, not " + in_quotes(*value));
  }
  return value == "true";
}

std::vector<std::string> KubeconfigMap::texts(std::string_view key) const {
  std::vector<std::string> texts;
  const YAML::Node list = value_of(node_->yaml, key);
  if (is_missing(list)) {
    return texts;
  }
  if (!list.IsSequence()) {
    report(key, ErrorCode::Malformed, "expected a list");
    return texts;
  }
  for (const auto& entry : list) {
    if (!entry.IsScalar() || entry.Scalar().find('\0') != std::string::npos) {
      report(key, ErrorCode::Malformed, "expected a list of texts");
      break;
    }
    texts.push_back(entry.Scalar());
  }
  return texts;
}

KubeconfigMap KubeconfigMap::map(std::string_view key) const {
  auto nested = std::make_shared<Node>();
  nested->yaml.reset(value_of(node_->yaml, key));
  nested->prefix = node_->prefix + std::string(key) + ".";
  if (!is_missing(nested->yaml) && !nested->yaml.IsMap()) {
    report(key, ErrorCode::Malformed, "expected a map of keys");
  }
  return KubeconfigMap(document_, std::move(nested));
}

std::vector<KubeconfigMap> KubeconfigMap::maps(std::string_view key) const {
  std::vector<KubeconfigMap> maps;
  const YAML::Node list = value_of(node_->yaml, key);
  if (is_missing(list)) {
    return maps;
  }
  if (!list.IsSequence()) {
    report(key, ErrorCode::Malformed, "expected a list");
    return maps;
  }
  for (const YAML::Node& entry : list) {
    if (!entry.IsMap()) {
      report(key, ErrorCode::Malformed, "expected a list of maps");
      break;
    }
    const YAML::Node name = value_of(entry, "name");
    auto nested = std::make_shared<Node>();
    nested->yaml.reset(entry);
    nested->prefix = node_->prefix + std::string(key) + "[" +
                     (name.IsDefined() && name.IsScalar() ? name.Scalar() : std::to_string(maps.size())) + "].";
    maps.push_back(KubeconfigMap(document_, std::move(nested)));
  }
  return maps;
}

std::filesystem::path KubeconfigMap::path(std::string_view key) const {
  const std::string name = text(key);
  return name.empty() ? std::filesystem::path() : document_->file.parent_path() / name;
}

PemSource KubeconfigMap::pem(std::string_view key) const {
  PemSource source;
  const std::string data_key = std::string(key) + "-data";
  const std::string data = text(data_key);
  if (data.empty()) {
    source.file = path(key);
    return source;
  }
  auto decoded = base64_decode(data);
  if (!decoded || decoded->empty()) {
    report(data_key, ErrorCode::Malformed, "not base64");
    return source;
  }
  source.data = std::move(*decoded);
  return source;
}

std::vector<std::string> KubeconfigMap::keys() const {
  std::vector<std::string> keys;
  if (node_->yaml.IsDefined() && node_->yaml.IsMap()) {
    for (const auto& entry : node_->yaml) {
      keys.push_back(entry.first.IsScalar() ? entry.first.Scalar() : "?");
    }
  }
  return keys;
}

Result<Kubeconfig> Kubeconfig::parse(const std::filesystem::path& file, std::string_view text) {
  if (text.size() > kMaxKubeconfigBytes) {
    return fail(ErrorCode::TooLarge, file.string() + ": longer than " + std::to_string(kMaxKubeconfigBytes) + " bytes");
  }
  auto root = std::make_shared<KubeconfigMap::Node>();
  try {
    root->yaml = load(std::string(text));
  } catch (const Refused& refused) {
    return fail_at(file, refused.mark, refused.code, refused.what);
  } catch (const YAML::Exception& error) {
    return fail_at(file, error.mark, ErrorCode::Malformed, "no YAML: " + error.msg);
  }
  if (!is_missing(root->yaml) && !root->yaml.IsMap()) {
    return fail(ErrorCode::Malformed, file.string() + ": no kubeconfig: expected 'key: value' lines");
  }
  auto document = std::make_shared<KubeconfigMap::Document>();
  document->file = file;
  return Kubeconfig(KubeconfigMap(std::move(document), std::move(root)));
}

Result<std::optional<KubeconfigMap>> Kubeconfig::entry(std::string_view list, std::string_view inner,
                                                       std::string_view name) const {
  std::optional<KubeconfigMap> found;
  for (const KubeconfigMap& entry : top_.maps(list)) {
    if (entry.text("name") == name) {
      found = entry.map(inner);
      break;
    }
  }
  if (top_.error()) {
    return tl::unexpected(*top_.error());
  }
  return found;
}

std::vector<std::string> Kubeconfig::names(std::string_view list) const {
  std::vector<std::string> names;
  for (const KubeconfigMap& entry : top_.maps(list)) {
    names.push_back(entry.text("name"));
  }
  return names;
}

}  // namespace gpuskew
