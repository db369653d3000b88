// The tag a node needs, alone on standard output: scripts build and pull what it says, so a doubtful tag is no tag.

#include <string_view>
#include <utility>

#include "aggregator/cli/asking.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/reply.h"
#include "core/tag.h"
#include "proto/json.h"

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

std::string note_lines(const std::vector<std::string>& notes) {
  std::string lines;
  for (const std::string& note : notes) {
    lines += note_line("note: " + note);
  }
  return lines;
}

/// Errors: NotFound when it is missing or empty, else what `parse` says; both name the flag.
template <class T>
Result<T> part(std::string_view flag, const std::optional<std::string>& given, Result<T> (*parse)(std::string_view)) {
  if (!given || given->empty()) {
    return fail(ErrorCode::NotFound, std::string(flag) + " is missing");
  }
  Result<T> value = parse(*given);
  if (!value) {
    return fail(flag, value.error());
  }
  return value;
}

Result<std::string> as_given(std::string_view text) {
  return std::string(text);
}

Result<DriverPart> parse_driver_part(std::string_view text) {
  if (text == "branch") {
    return DriverPart::Branch;
  }
  if (text == "version") {
    return DriverPart::Version;
  }
  return fail(ErrorCode::Malformed, std::string(text) + " is neither branch nor version");
}

Result<TagPolicy> policy_of(const TagParts& parts) {
  TagPolicy policy;
  if (parts.driver_part) {
    const auto driver_part = part("--driver-part", parts.driver_part, parse_driver_part);
    if (!driver_part) {
      return tl::unexpected(driver_part.error());
    }
    policy.driver_part = *driver_part;
  }
  if (parts.operator_version) {
    auto version = part("--operator-version", parts.operator_version, OperatorVersion::parse);
    if (!version) {
      return tl::unexpected(version.error());
    }
    policy.operator_version = std::move(*version);
  }
  return policy;
}

/// Every part that is missing or malformed is named, not only the first.
Result<Tag> tag_of_parts(const TagParts& parts) {
  const auto kernel = part("--kernel", parts.kernel, KernelRelease::parse);
  const auto os = part("--os", parts.os, as_given);
  const auto os_version = part("--os-version", parts.os_version, as_given);
  const auto driver = part("--driver", parts.driver, DriverVersion::parse);
  const auto policy = policy_of(parts);
  std::string wrong;
  const auto gather = [&wrong](const auto& read) {
    if (!read) {
      wrong += (wrong.empty() ? "" : "; ") + read.error().what;
    }
  };
  gather(kernel);
  gather(os);
  gather(os_version);
  gather(driver);
  gather(policy);
  if (!wrong.empty()) {
    return fail(ErrorCode::Malformed, "no tag: " + wrong);
  }
  OsIdentity identity;
  identity.id = *os;
  identity.version_id = *os_version;
  return compute_tag(Fact<DriverVersion>::known(*driver, "--driver"), Fact<KernelRelease>::known(*kernel, "--kernel"),
                     Fact<OsIdentity>::known(std::move(identity), "--os, --os-version"), *policy);
}

Answer tag_answer(const std::string& text, const Json& document, const std::vector<std::string>& notes, Format format) {
  return Answer{ExitCode::Fine, is_document(format) ? document_text(document, format) : text + "\n", note_lines(notes)};
}

}  // namespace

Answer tag_of_parts_command(const Options& options) {
  const Result<Tag> tag = tag_of_parts(options.tag_parts);
  if (!tag) {
    return no_answer(tag.error().what);
  }
  return tag_answer(tag->text, to_json(*tag), tag->notes, options.format);
}

Answer node_tag_command(ApiClient& client, const Options& options) {
  const auto node = ask(client, node_path(options.node), node_reply);
  if (!node) {
    return no_answer(node.error().what);
  }
  if (!node->value.tag || node->value.tag->text.empty()) {
    return no_answer(node->value.name + ": " + node->value.tag_error.value_or("no tag, and no reason is given"));
  }
  return tag_answer(node->value.tag->text, node->json["tag"], node->value.tag->notes, options.format);
}

}  // namespace gpuskew
