#include "data/cifar.h"

#include <fmt/format.h>

#include "data/files.h"
#include "data/memory_images.h"
#include "samplenorm/error.h"

namespace samplenorm::data {
namespace {

constexpr int64_t kPixelBytes = kCifarPoints * kCifarChannels;

/// Appends one file's images and labels.
void append(const std::filesystem::path& file, const CifarFormat& format, std::vector<uint8_t>& pixels,
            std::vector<uint8_t>& labels) {
  const auto bytes = read_file(file);
  const int64_t label_bytes = format.coarse_classes > 0 ? 2 : 1;
  const int64_t record_bytes = label_bytes + kPixelBytes;
  const auto found = static_cast<int64_t>(bytes.size());
  if (found < format.records * record_bytes) {
    throw Error(fmt::format("{}: expected {} records of {} bytes, found {} bytes, which end in record {}",
                            file.string(), format.records, record_bytes, found, found / record_bytes));
  }
  if (found > format.records * record_bytes) {
    throw Error(fmt::format("{}: expected {} records of {} bytes, found {} more bytes", file.string(), format.records,
                            record_bytes, found - format.records * record_bytes));
  }

  const auto checked = [&](int64_t record, const char* what, uint8_t label, int64_t classes) {
    if (label < classes) return label;
    throw Error(fmt::format("{}: expected {} from 0 to {} in record {}, found {}", file.string(), what, classes - 1,
                            record, label));
  };
  size_t to = pixels.size();
  pixels.resize(to + static_cast<size_t>(format.records * kPixelBytes));
  for (int64_t record = 0; record < format.records; ++record) {
    const uint8_t* from = bytes.data() + record * record_bytes;
    if (format.coarse_classes > 0) checked(record, "a coarse label", *from++, format.coarse_classes);
    labels.push_back(checked(record, "a label", *from++, format.classes));
    for (int64_t point = 0; point < kCifarPoints; ++point) {
      for (int64_t c = 0; c < kCifarChannels; ++c) pixels[to++] = from[c * kCifarPoints + point];
    }
  }
}

}  // namespace

std::shared_ptr<const ImageSet> read_cifar(const std::vector<std::filesystem::path>& files, const CifarFormat& format) {
  std::vector<uint8_t> pixels, labels;
  pixels.reserve(files.size() * static_cast<size_t>(format.records * kPixelBytes));
  for (const auto& file : files) append(file, format, pixels, labels);
  return std::make_shared<MemoryImages>(kCifarSide, kCifarSide, kCifarChannels, std::move(pixels), std::move(labels));
}

void write_cifar10(const std::filesystem::path& file, const std::vector<uint8_t>& pixels,
                   const std::vector<uint8_t>& labels) {
  if (pixels.size() != labels.size() * kPixelBytes) {
    throw Error(fmt::format("{}: expected {} bytes for {} images, got {}", file.string(), labels.size() * kPixelBytes,
                            labels.size(), pixels.size()));
  }
  std::vector<uint8_t> content;
  content.reserve(labels.size() + pixels.size());
  const uint8_t* image = pixels.data();
  for (const uint8_t label : labels) {
    content.push_back(label);
    for (int64_t c = 0; c < kCifarChannels; ++c) {
      for (int64_t point = 0; point < kCifarPoints; ++point) content.push_back(image[point * kCifarChannels + c]);
    }
    image += kPixelBytes;
  }
  write_file(file, content);
}

std::vector<std::filesystem::path> cifar10_train_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i <= 5; ++i) files.push_back(folder / fmt::format("data_batch_{}.bin", i));
  return files;
}

std::filesystem::path cifar10_test_file(const std::filesystem::path& folder) { return folder / "test_batch.bin"; }

}  // namespace samplenorm::data
