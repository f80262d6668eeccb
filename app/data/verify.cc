#include "data/verify.h"

#include <fmt/format.h>

#include "data/source.h"
#include "data/statistics.h"
#include "samplenorm/error.h"

namespace samplenorm::data {
namespace {

std::string verify_half(const std::string& name, const ImageSet& half, int64_t classes, const KnownHalf& known) {
  if (known.of_each_class > 0) {
    const auto counts = class_counts(half, classes);
    for (size_t label = 0; label < counts.size(); ++label) {
      if (counts[label] != known.of_each_class) {
        throw Error(fmt::format("{}: expected {} images of class {}, found {}", name, known.of_each_class, label,
                                counts[label]));
      }
    }
  }
  const std::string found = half_digest(half);  // decodes every image
  const std::string what = fmt::format("{}: {} images in {} classes, SHA-256 {}", name, half.size(), classes, found);
  if (known.sha256.empty()) return what + " (none is on record to compare with)";
  if (found != known.sha256) {
    throw Error(fmt::format("{}: expected images and labels with SHA-256 {}, found {}", name, known.sha256, found));
  }
  return what + " as expected";
}

}  // namespace

std::vector<std::string> verify_data_set(DataOptions options) {
  options.strict = true;
  options.limit = 0;
  const Source& source = find_source(options.name);
  const DataSet set = open_data_set(options);
  return {verify_half(options.name + "'s training half", *set.train, set.classes, source.train),
          verify_half(options.name + "'s test half", *set.test, set.classes, source.test)};
}

}  // namespace samplenorm::data
