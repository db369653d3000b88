#pragma once

#include <string>
#include <string_view>

namespace gpuskew {

/// For one segment of a path or one value of a query: everything but letters, digits and "-._~" as %XX.
std::string query_escaped(std::string_view text);

/// `path`, which may have a query already, with more of it.
std::string with_query(const std::string& path, std::string_view query);

}  // namespace gpuskew
