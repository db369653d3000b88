#include "aggregator/cli/asking.h"

#include "aggregator/cli/document.h"

namespace gpuskew {

Error unreadable_reply(const std::string& server, const std::string& path, const Error& error) {
  return Error{error.code, server + path + " answered in a form gpuskew " GPUSKEW_VERSION " does not know: " +
                               error.what + "; are both of one version?"};
}

bool is_document(Format format) {
  return format == Format::Json || format == Format::Yaml;
}

std::string document_text(const nlohmann::ordered_json& value, Format format) {
  return format == Format::Yaml ? to_yaml_text(value) : to_json_text(value);
}

std::string table_text(const Table& table, Format format, const Screen& screen) {
  if (format == Format::Csv) {
    return table.to_csv();
  }
  if (table.empty()) {
    return {};
  }
  Screen shown = screen;
  if (format == Format::Wide) {
    shown.columns.reset();
  }
  return table.to_text(shown);
}

}  // namespace gpuskew
