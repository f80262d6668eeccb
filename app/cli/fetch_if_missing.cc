#include "cli/fetch_if_missing.h"

#include <fmt/format.h>

#include <filesystem>

#include "data/source.h"

namespace samplenorm::cli {

void fetch_if_missing(const std::string& name, const std::string& folder) {
  const auto& source = data::find_source(name);
  if (!folder.empty()) return;
  const auto place = data::folder_of(source, {});
  const auto say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  if (!std::filesystem::exists(place)) source.fetch(place, say);
}

}  // namespace samplenorm::cli
