#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "data/source.h"
#include "data/subset.h"
#include "samplenorm/error.h"

// One line a data set.
#define ALL_SOURCES     \
  SOURCE(cifar10)       \
  SOURCE(cifar100)      \
  SOURCE(fashion_mnist) \
  SOURCE(synthetic)     \
  SOURCE(image_folder)

namespace samplenorm::data {

#define SOURCE(name) Source name##_source();
ALL_SOURCES
#undef SOURCE

const std::vector<Source>& sources() {
#define SOURCE(name) name##_source(),
  static const std::vector<Source> all{ALL_SOURCES};
#undef SOURCE
  return all;
}

const Source& find_source(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& source : sources()) {
    if (source.name == name) return source;
    names.push_back(source.name);
  }
  throw Error(fmt::format("unknown data set '{}', expected one of {}", name, fmt::join(names, ", ")));
}

std::filesystem::path default_folder(const std::string& name) {
  const auto variable = [](const char* key) -> std::filesystem::path {
    const char* value = std::getenv(key);
    return value == nullptr ? "" : value;
  };
  if (const auto root = variable("SAMPLENORM_DATA"); !root.empty()) return root / name;
  // The specification of XDG wants relative paths ignored.
  if (const auto cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "samplenorm" / name;
  if (const auto home = variable("HOME"); !home.empty()) return home / ".cache" / "samplenorm" / name;
  throw Error(fmt::format("no folder for {}: set SAMPLENORM_DATA, XDG_CACHE_HOME or HOME, or name one", name));
}

std::filesystem::path folder_of(const Source& source, const std::filesystem::path& folder) {
  if (!folder.empty()) return folder;
  return source.folder.empty() ? default_folder(source.name) : source.folder;
}

std::vector<std::string> data_set_names() {
  std::vector<std::string> names;
  for (const auto& source : sources()) {
    if (source.name != "folder") names.push_back(source.name);
  }
  return names;
}

DataSet open_data_set(const DataOptions& options) {
  const Source& source = find_source(options.name);
  if (options.limit < 0)
    throw Error(fmt::format("limit of training images: expected 0 or more, got {}", options.limit));
  DataOptions with_folder = options;
  // A folder of one's own has no usual place: its source asks for one.
  if (source.name != "folder") with_folder.folder = folder_of(source, options.folder);
  DataSet set = source.open(with_folder);
  if (options.limit > 0 && options.limit < set.train->size()) set.train = evenly_spread(set.train, options.limit);
  return set;
}

}  // namespace samplenorm::data
