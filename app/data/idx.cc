#include "data/idx.h"

#include <fmt/format.h>
#include <torch/torch.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "samplenorm/error.h"

namespace samplenorm::data {
namespace {

constexpr uint32_t kImagesMagic = 0x00000803;  // bytes in three dimensions
constexpr uint32_t kLabelsMagic = 0x00000801;  // bytes in one dimension
constexpr uint32_t kLongestSide = 4096;        // keeps the product of the sizes of a damaged header within 64 bits

/// gzread() passes plain files through as they are.
class IdxFile {
 public:
  explicit IdxFile(const std::filesystem::path& path) : path_(path), file_(gzopen(path.c_str(), "rb"), &gzclose) {
    if (!file_) fail(fmt::format("expected a readable file, found: {}", std::strerror(errno)));
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(fmt::format("{}: {}", path_.string(), problem));
  }

  void expect_magic(uint32_t expected, const char* what) {
    const uint32_t found = read_number("magic number");
    if (found != expected) fail(fmt::format("expected {} (magic 0x{:08x}), found 0x{:08x}", what, expected, found));
  }

  uint32_t read_number(const char* what) {
    uint8_t bytes[4];
    const uint64_t found = read(bytes, sizeof(bytes));
    if (found != sizeof(bytes)) fail(fmt::format("expected the 4 bytes of the {}, found {}", what, found));
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
  }

  /// All that is left, which must be `size` bytes. Memory grows with what is there, not with what a damaged header
  /// says.
  std::vector<uint8_t> read_rest(uint64_t size) {
    constexpr uint64_t kChunk = uint64_t{1} << 22;
    std::vector<uint8_t> bytes;
    while (bytes.size() < size) {
      const uint64_t begin = bytes.size();
      bytes.resize(begin + std::min(kChunk, size - begin));
      const uint64_t found = read(bytes.data() + begin, bytes.size() - begin);
      if (begin + found < bytes.size()) {
        fail(fmt::format("expected {} bytes behind the header, found {} (the file is truncated)", size, begin + found));
      }
    }
    uint8_t extra;  // reading past the end also makes zlib compare gzip's checksum
    if (read(&extra, 1) != 0) fail(fmt::format("expected {} bytes behind the header, found more", size));
    return bytes;
  }

 private:
  uint64_t read(uint8_t* to, uint64_t size) {
    const int count = gzread(file_.get(), to, static_cast<unsigned>(size));
    if (count >= 0) return static_cast<uint64_t>(count);
    int code = Z_OK;
    const std::string reason = gzerror(file_.get(), &code);
    fail(fmt::format("expected IDX data, found what cannot be read ({})",
                     code == Z_ERRNO ? std::strerror(errno) : reason));
  }

  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, decltype(&gzclose)> file_;
};

}  // namespace

torch::Tensor read_idx_images(const std::filesystem::path& file) {
  IdxFile idx(file);
  idx.expect_magic(kImagesMagic, "an IDX file of images");
  const int64_t count = idx.read_number("number of images");
  const int64_t height = idx.read_number("height");
  const int64_t width = idx.read_number("width");
  if (std::min(height, width) < 1 || std::max(height, width) > kLongestSide) {
    idx.fail(fmt::format("expected sides of 1 to {} points, found {} x {}", kLongestSide, height, width));
  }
  auto bytes = idx.read_rest(static_cast<uint64_t>(count * height * width));
  return torch::from_blob(bytes.data(), {count, 1, height, width}, torch::kUInt8).clone();
}

torch::Tensor read_idx_labels(const std::filesystem::path& file, int64_t classes) {
  IdxFile idx(file);
  idx.expect_magic(kLabelsMagic, "an IDX file of labels");
  const int64_t count = idx.read_number("number of labels");
  auto bytes = idx.read_rest(static_cast<uint64_t>(count));
  const auto wrong = std::find_if(bytes.begin(), bytes.end(), [=](uint8_t label) { return label >= classes; });
  if (wrong != bytes.end()) {
    idx.fail(
        fmt::format("expected labels from 0 to {}, found {} at index {}", classes - 1, *wrong, wrong - bytes.begin()));
  }
  return torch::from_blob(bytes.data(), {count}, torch::kUInt8).to(torch::kInt64);
}

LabeledImages read_idx_pair(const std::filesystem::path& images, const std::filesystem::path& labels, int64_t classes) {
  LabeledImages both{read_idx_images(images), read_idx_labels(labels, classes)};
  if (both.images.size(0) != both.labels.size(0)) {
    throw Error(fmt::format("{}: expected {} labels, one for each image of {}, found {}", labels.string(),
                            both.images.size(0), images.string(), both.labels.size(0)));
  }
  return both;
}

}  // namespace samplenorm::data
