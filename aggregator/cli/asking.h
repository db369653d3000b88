#pragma once

// A question and its answer in both shapes: as it came, for -o json, and as values.

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "aggregator/cli/answer_source.h"
#include "aggregator/cli/command_line.h"
#include "aggregator/cli/screen.h"
#include "aggregator/cli/table.h"
#include "core/result.h"

namespace gpuskew {

template <class T>
struct Asked {
  nlohmann::ordered_json json;
  T value;
};

/// The error for a reply of another shape than this program's version knows.
Error unreadable_reply(const std::string& server, const std::string& path, const Error& error);

template <class T>
Result<Asked<T>> ask(AnswerSource& source, const Question& question, Result<T> (*read)(const nlohmann::ordered_json&)) {
  Result<nlohmann::ordered_json> json = source.get(question);
  if (!json) {
    return tl::unexpected(json.error());
  }
  Result<T> value = read(*json);
  if (!value) {
    return tl::unexpected(unreadable_reply(source.server(), path_of(question), value.error()));
  }
  return Asked<T>{std::move(*json), std::move(*value)};
}

bool is_document(Format format);
/// -o json or -o yaml.
std::string document_text(const nlohmann::ordered_json& value, Format format);
/// -o table, wide (never cut) or csv. An empty table is no text, but CSV keeps its header.
std::string table_text(const Table& table, Format format, const Screen& screen);

}  // namespace gpuskew
