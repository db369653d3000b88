// The tag a node needs, alone on standard output: scripts build and pull what it says, so a doubtful tag is no tag.

#include <string_view>
#include <utility>

#include "aggregator/cli/asking.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/reply.h"
#include "aggregator/cli/tag_parts.h"
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

Answer node_tag_command(AnswerSource& source, const Options& options) {
  const auto node = ask(source, Question(Topic::Node, options.node), node_reply);
  if (!node) {
    return no_answer(node.error().what);
  }
  if (!node->value.tag || node->value.tag->text.empty()) {
    return no_answer(node->value.name + ": " + node->value.tag_error.value_or("no tag, and no reason is given"));
  }
  std::vector<std::string> notes = node->value.tag->notes;
  if (node->value.cluster) {
    const auto& contradictions = node->value.cluster->notes;
    notes.insert(notes.end(), contradictions.begin(), contradictions.end());
  }
  return tag_answer(node->value.tag->text, node->json["tag"], notes, options.format);
}

}  // namespace gpuskew
