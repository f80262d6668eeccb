#include "data/image_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>

#include "data/files.h"
#include "data/photograph.h"
#include "data/source.h"
#include "samplenorm/error.h"

namespace samplenorm::data {
namespace {

struct LabeledFile {
  std::filesystem::path path;
  int64_t label;
};

class PhotographSet : public ImageSet {
 public:
  PhotographSet(std::vector<LabeledFile> files, bool strict)
      : files_(std::move(files)), strict_(strict), warned_(std::make_unique<std::atomic<bool>[]>(files_.size())) {}

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  int64_t label(int64_t index) const override { return files_[static_cast<size_t>(index)].label; }

  std::optional<Image> image(int64_t index, int64_t least_side) const override {
    const auto& path = files_[static_cast<size_t>(index)].path;
    try {
      return decode_photograph(read_file(path), path.string(), least_side);
    } catch (const Error& error) {
      if (strict_) throw;
      const bool before = warned_[static_cast<size_t>(index)].exchange(true);
      if (!before) fmt::print(stderr, "warning: image left out: {}\n", error.what());
      return std::nullopt;
    }
  }

 private:
  std::vector<LabeledFile> files_;
  bool strict_;
  std::unique_ptr<std::atomic<bool>[]> warned_;  // by the image's index
};

/// Sorted, without hidden ones. Throws Error if `folder` cannot be read.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder) {
  std::error_code failed;
  std::vector<std::filesystem::path> paths;
  std::filesystem::directory_iterator entry(folder, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    if (entry->path().filename().string().front() != '.') paths.push_back(entry->path());
  }
  if (failed) {
    throw Error(fmt::format("{}: expected a folder, as in ROOT/train/CLASS/image.jpg and ROOT/val/CLASS/image.jpg: {}",
                            folder.string(), failed.message()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> class_names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& path : entries(folder)) {
    if (std::filesystem::is_directory(path)) names.push_back(path.filename().string());
  }
  return names;
}

bool is_image(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

std::shared_ptr<const ImageSet> open_half(const std::filesystem::path& folder, const std::vector<std::string>& classes,
                                          bool strict) {
  std::vector<LabeledFile> files;
  for (const auto& name : class_names(folder)) {
    const auto at = std::lower_bound(classes.begin(), classes.end(), name);
    if (at == classes.end() || *at != name) {
      throw Error(fmt::format("{}: expected only classes that the training half has", (folder / name).string()));
    }
    for (const auto& path : entries(folder / name)) {
      if (is_image(path)) files.push_back({path, at - classes.begin()});
    }
  }
  if (files.empty()) {
    throw Error(
        fmt::format("{}: expected images (.jpg, .jpeg, .png) in a folder for each class, found none", folder.string()));
  }
  return std::make_shared<PhotographSet>(std::move(files), strict);
}

}  // namespace

DataSet open_image_folder(const DataOptions& options) {
  if (options.folder.empty()) {
    throw Error("data set 'folder': expected the folder that has train/CLASS/ and val/CLASS/ with images");
  }
  const auto classes = class_names(options.folder / "train");
  return {.name = "folder",
          .classes = static_cast<int64_t>(classes.size()),
          .channels = 3,
          .side = 224,
          .framing = Framing::kResizedCrop,
          // ImageNet's, which networks trained elsewhere expect.
          .mean = {0.485, 0.456, 0.406},
          .deviation = {0.229, 0.224, 0.225},
          .own_statistics = false,
          .train = open_half(options.folder / "train", classes, options.strict),
          .test = open_half(options.folder / "val", classes, options.strict)};
}

Source image_folder_source() {
  return {.name = "folder",
          .what = "your own photographs: DIR/train/CLASS/*.jpg and DIR/val/CLASS/*.jpg (.jpeg, .png)",
          .open = open_image_folder,
          .fetch = [](const std::filesystem::path&,
                      const Say&) { throw Error("a folder of images cannot be fetched: it is your own"); },
          .train = {},
          .test = {}};
}

}  // namespace samplenorm::data
