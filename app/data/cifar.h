#pragma once

// The official binary files of CIFAR: records of one label byte (CIFAR-100: the coarse label's, then the fine one's)
// and 3072 bytes of pixels, all red ones first, then the green ones and the blue ones. No header.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "data/data_set.h"

namespace samplenorm::data {

inline constexpr int64_t kCifarSide = 32;
inline constexpr int64_t kCifarChannels = 3;
inline constexpr int64_t kCifarPoints = kCifarSide * kCifarSide;

struct CifarFormat {
  int64_t classes = 10;
  int64_t coarse_classes = 0;  ///< 0: there is no coarse label
  int64_t records = 10000;     ///< in each file
};

/// The images of `files`, one file after the other. Throws Error, which names the file and the record.
std::shared_ptr<const ImageSet> read_cifar(const std::vector<std::filesystem::path>& files, const CifarFormat& format);

/// A file of CIFAR-10. `pixels`: image after image, interleaved, 3072 bytes each. Written beside and renamed. Throws
/// Error.
void write_cifar10(const std::filesystem::path& file, const std::vector<uint8_t>& pixels,
                   const std::vector<uint8_t>& labels);

/// Names of CIFAR-10's files.
std::vector<std::filesystem::path> cifar10_train_files(const std::filesystem::path& folder);
std::filesystem::path cifar10_test_file(const std::filesystem::path& folder);

}  // namespace samplenorm::data
