#include "report/page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "samplenorm/error.h"

namespace samplenorm::report {

std::string json_for_html(const nlohmann::json& value) {
  using nlohmann::json;
  const std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    // Outside of its texts JSON has none of these, and in them an escape means the same.
    if (c == '<' || c == '>' || c == '&')
      safe += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      safe += c;
  }
  return safe;
}

std::string fill(std::string_view text, const std::map<std::string, std::string_view>& parts) {
  std::string page;
  for (;;) {
    const size_t begin = text.find("{{"), end = text.find("}}", begin);
    if (begin == text.npos || end == text.npos) return page.append(text);
    const std::string name(text.substr(begin + 2, end - begin - 2));
    const auto part = parts.find(name);
    if (part == parts.end()) throw Error(fmt::format("the page asks for '{}', which the program does not hold", name));
    page.append(text.substr(0, begin)).append(part->second);
    text.remove_prefix(end + 2);
  }
}

}  // namespace samplenorm::report
