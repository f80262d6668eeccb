#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace samplenorm::report {

/// JSON that may stand in a <script> element: pure ASCII, and no character in it can end the element or begin a tag.
std::string json_for_html(const nlohmann::json& value);

/// `text` with every {{name}} replaced by the part of that name; parts are taken as they are. Throws Error for a name
/// that `parts` does not have.
std::string fill(std::string_view text, const std::map<std::string, std::string_view>& parts);

}  // namespace samplenorm::report
