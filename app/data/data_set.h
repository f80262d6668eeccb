#pragma once

// What a training run reads: two halves of labelled images and what they have in common.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace samplenorm::data {

/// One decoded image: rows of pixels of interleaved channels.
struct Image {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  std::vector<uint8_t> bytes;
};

/// One half of a data set. Safe to use from several threads at once.
class ImageSet {
 public:
  virtual ~ImageSet() = default;

  virtual int64_t size() const = 0;
  virtual int64_t label(int64_t index) const = 0;
  /// Nothing if the image cannot be decoded and the set is not strict (a strict one throws Error). A source may decode
  /// to any size whose shorter side is not below `least_side`, which saves time for large photographs.
  virtual std::optional<Image> image(int64_t index, int64_t least_side) const = 0;
};

/// How the images of a set are made into inputs of one size.
enum class Framing {
  kPadAndCrop,   ///< small images: training pads by 4, flips and crops; evaluation takes them as they are
  kResizedCrop,  ///< photographs: training takes a random resized crop; evaluation the centre of the resized image
};

struct DataSet {
  std::string name;
  int64_t classes = 0;
  int64_t channels = 3;
  int64_t side = 32;  ///< inputs are side x side
  Framing framing = Framing::kPadAndCrop;
  std::vector<double> mean;       ///< for each channel, bytes counted as 0 to 1: what inputs are normalized with
  std::vector<double> deviation;  ///< the same
  /// Whether these are the training half's own, so that inputs have mean 0 and deviation 1 over it.
  bool own_statistics = true;
  std::shared_ptr<const ImageSet> train;
  std::shared_ptr<const ImageSet> test;
};

struct DataOptions {
  std::string name = "cifar10";       ///< one of data_set_names(), or "folder"
  std::filesystem::path folder = {};  ///< empty: where `samplenorm data fetch` puts it
  bool strict = false;                ///< a corrupt image is an error
  int64_t limit = 0;                  ///< take only so many training images, evenly spread; 0: all
};

/// Throws Error.
DataSet open_data_set(const DataOptions& options);

std::vector<std::string> data_set_names();

}  // namespace samplenorm::data
