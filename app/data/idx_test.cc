#include "data/idx.h"

#include <gtest/gtest.h>
#include <torch/torch.h>
#include <zlib.h>

#include <string>

#include "data/fashion_mnist.h"
#include "data/testing.h"

namespace samplenorm::data {
namespace {

std::string number(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string images_content(uint32_t count, uint32_t height, uint32_t width) {
  std::string content = number(0x803) + number(count) + number(height) + number(width);
  for (uint32_t i = 0; i < count * height * width; ++i) content += static_cast<char>(i * 7);
  return content;
}

std::string labels_content(const std::string& labels) {
  return number(0x801) + number(static_cast<uint32_t>(labels.size())) + labels;
}

class IdxTest : public FolderTest {
 protected:
  std::filesystem::path plain(const std::string& name, const std::string& content) const {
    return write(name, content);
  }

  std::filesystem::path zipped(const std::string& name, const std::string& content) const {
    const auto path = folder() / name;
    const gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    gzclose(file);
    return path;
  }
};

TEST_F(IdxTest, ReadsPlainAndZippedAlike) {
  const std::string content = images_content(3, 4, 5);
  const auto images = read_idx_images(plain("images", content));
  ASSERT_EQ(images.sizes(), (std::vector<int64_t>{3, 1, 4, 5}));
  EXPECT_EQ(images.scalar_type(), torch::kUInt8);
  for (int64_t i = 0; i < images.numel(); ++i) {
    EXPECT_EQ(images.view(-1)[i].item<int64_t>(), static_cast<uint8_t>(i * 7));
  }
  EXPECT_TRUE(torch::equal(read_idx_images(zipped("images.gz", content)), images));
}

TEST_F(IdxTest, ReadsLabels) {
  const auto labels = read_idx_labels(zipped("labels.gz", labels_content({3, 0, 9})), 10);
  EXPECT_TRUE(torch::equal(labels, torch::tensor({3, 0, 9}, torch::kInt64)));
}

TEST_F(IdxTest, ReadsFilesLargerThanOneChunk) {
  const auto images = read_idx_images(zipped("images.gz", images_content(2, 2100, 2100)));
  const int64_t last = images.numel() - 1;
  EXPECT_EQ(images.view(-1)[last].item<int64_t>(), static_cast<uint8_t>(last * 7));
}

TEST_F(IdxTest, NamesAMissingFile) {
  expect_error([&] { read_idx_images(folder() / "images"); }, {(folder() / "images").string(), "No such file"});
}

TEST_F(IdxTest, FindsTruncation) {
  const std::string content = images_content(3, 4, 5);
  expect_error([&] { read_idx_images(plain("images", content.substr(0, content.size() - 1))); },
               {"images", "expected 60 bytes", "found 59", "truncated"});
  expect_error([&] { read_idx_images(plain("images", content.substr(0, 10))); }, {"the height", "found 2"});
  expect_error([&] { read_idx_images(plain("images", "")); }, {"magic", "found 0"});
}

TEST_F(IdxTest, FindsTruncationAndDamageOfGzip) {
  std::string bytes;
  {
    std::ifstream file(zipped("images.gz", images_content(3, 40, 50)), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  EXPECT_THROW(read_idx_images(plain("short.gz", bytes.substr(0, bytes.size() / 2))), Error);
  bytes[bytes.size() - 6] = static_cast<char>(~bytes[bytes.size() - 6]);  // in the checksum
  expect_error([&] { read_idx_images(plain("damaged.gz", bytes)); }, {"damaged.gz", "cannot be read"});
}

TEST_F(IdxTest, FindsBytesTooMany) {
  expect_error([&] { read_idx_labels(plain("labels", labels_content({1, 2}) + "x"), 10); }, {"found more"});
}

TEST_F(IdxTest, FindsAWrongMagic) {
  expect_error(
      [&] {
        read_idx_images(plain("labels", labels_content({1, 2})));
      },
      {"labels", "of images", "0x00000803", "found 0x00000801"});
  expect_error([&] { read_idx_labels(plain("images", images_content(1, 2, 2)), 10); }, {"found 0x00000803"});
}

TEST_F(IdxTest, DoesNotTrustTheHeader) {
  const std::string huge = number(0x803) + number(0xffffffff) + number(4096) + number(4096);
  expect_error([&] { read_idx_images(plain("images", huge)); }, {"truncated"});
  const std::string wide = number(0x803) + number(1) + number(4) + number(0xffffffff);
  expect_error([&] { read_idx_images(plain("images", wide)); }, {"4 x 4294967295"});
}

TEST_F(IdxTest, FindsALabelOutOfRange) {
  expect_error(
      [&] {
        read_idx_labels(plain("labels", labels_content({1, 10})), 10);
      },
      {"from 0 to 9", "found 10 at index 1"});
}

TEST_F(IdxTest, FindsCountsThatDiffer) {
  const auto images = plain("images", images_content(3, 2, 2));
  const auto labels = plain("labels", labels_content({1, 2}));
  expect_error([&] { read_idx_pair(images, labels, 10); }, {"images", "labels", "expected 3", "found 2"});
}

TEST_F(IdxTest, FashionMnistIsFoundPlainOrZippedAndNamesThePackageWhereItIsNot) {
  zipped("train-images-idx3-ubyte.gz", images_content(2, 28, 28));
  zipped("train-labels-idx1-ubyte.gz", labels_content({1, 2}));
  plain("t10k-images-idx3-ubyte", images_content(1, 28, 28));
  expect_error([&] { load_fashion_mnist(folder()); }, {"t10k-labels-idx1-ubyte", "dataset-fashion-mnist"});
  plain("t10k-labels-idx1-ubyte", labels_content({7}));
  const auto data = load_fashion_mnist(folder());
  EXPECT_EQ(data.train.images.size(0), 2);
  EXPECT_EQ(data.test.labels.item<int64_t>(), 7);
}

}  // namespace
}  // namespace samplenorm::data
