#pragma once

// Fashion-MNIST: 60,000 + 10,000 grey images of clothes, 28 x 28, in 10 classes. Debian has it as a package, so it
// needs no download of our own.

#include <filesystem>

#include "data/idx.h"

namespace samplenorm::data {

inline constexpr int64_t kFashionMnistClasses = 10;
/// Where Debian's package dataset-fashion-mnist puts it.
inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

struct FashionMnist {
  LabeledImages train;
  LabeledImages test;
};

/// Reads the four files of `folder`, gzip'd or not. Throws Error.
FashionMnist load_fashion_mnist(const std::filesystem::path& folder = kFashionMnistFolder);

}  // namespace samplenorm::data
