#pragma once

// IDX, the format of MNIST and its successors: a magic number, the sizes (big-endian), then bytes. Files may be gzip'd.
// All functions throw Error, in one sentence that names the file, what was expected and what was found.

#include <torch/types.h>

#include <cstdint>
#include <filesystem>

namespace samplenorm::data {

struct LabeledImages {
  torch::Tensor images;  ///< (N, 1, H, W), uint8
  torch::Tensor labels;  ///< (N), int64
};

/// (N, 1, H, W), uint8.
torch::Tensor read_idx_images(const std::filesystem::path& file);

/// (N), int64, each in [0, classes).
torch::Tensor read_idx_labels(const std::filesystem::path& file, int64_t classes);

/// Both, after a check that there are as many labels as images.
LabeledImages read_idx_pair(const std::filesystem::path& images, const std::filesystem::path& labels, int64_t classes);

}  // namespace samplenorm::data
