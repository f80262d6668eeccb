#include "data/cifar.h"

#include "data/testing.h"

namespace samplenorm::data {
namespace {

using CifarTest = FolderTest;

/// Interleaved; every byte tells the image, the point and the channel apart as far as a byte can.
std::vector<uint8_t> pixels_of(int64_t images) {
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < images; ++i) {
    for (int64_t point = 0; point < kCifarPoints; ++point) {
      for (int64_t c = 0; c < 3; ++c) pixels.push_back(static_cast<uint8_t>(31 * i + 7 * point + 85 * c));
    }
  }
  return pixels;
}

std::string record(const std::string& labels, char fill) { return labels + std::string(3072, fill); }

TEST_F(CifarTest, WhatIsWrittenHasTheOfficialLayout) {
  const auto pixels = pixels_of(2);
  write_cifar10(folder() / "a.bin", pixels, {3, 9});
  const auto bytes = read_file(folder() / "a.bin");
  ASSERT_EQ(bytes.size(), 2 * 3073u);
  EXPECT_EQ(bytes[3073], 9);
  for (size_t c = 0; c < 3; ++c) {
    for (size_t point : {0u, 1u, 32u, 1023u}) {
      EXPECT_EQ(bytes[3073 + 1 + c * 1024 + point], pixels[3072 + point * 3 + c]);
    }
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder()), {}), 1) << "only the file is left";
}

TEST_F(CifarTest, ReadsWhatWasWrittenFileAfterFile) {
  const auto pixels = pixels_of(3);
  write_cifar10(folder() / "a.bin", pixels, {1, 2, 3});
  write_cifar10(folder() / "b.bin", pixels, {4, 5, 6});
  const auto set = read_cifar({folder() / "a.bin", folder() / "b.bin"}, {.records = 3});
  ASSERT_EQ(set->size(), 6);
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(set->label(i), i + 1);
    const auto image = set->image(i, 32);
    ASSERT_TRUE(image.has_value());
    EXPECT_EQ(image->height * image->width * image->channels, 3072);
    EXPECT_TRUE(std::equal(image->bytes.begin(), image->bytes.end(), pixels.begin() + i % 3 * 3072));
  }
}

TEST_F(CifarTest, TheFineLabelOfCifar100IsTheSecond) {
  const auto file = write("train.bin", record("\x13\x63", 'a') + record(std::string("\0\x05", 2), 'b'));
  const auto set = read_cifar({file}, {.classes = 100, .coarse_classes = 20, .records = 2});
  EXPECT_EQ(set->label(0), 99);
  EXPECT_EQ(set->label(1), 5);
  EXPECT_EQ(set->image(1, 0)->bytes, std::vector<uint8_t>(3072, 'b'));
}

TEST_F(CifarTest, AnErrorNamesTheFileAndTheRecord) {
  const std::string good = record("\x01", 'a');
  const auto cut = write("cut.bin", good + good.substr(0, 100));
  expect_error([&] { read_cifar({cut}, {.records = 2}); }, {"cut.bin", "2 records of 3073 bytes", "end in record 1"});
  expect_error([&] { read_cifar({cut}, {.records = 1}); }, {"cut.bin", "100 more bytes"});
  const auto wrong = write("wrong.bin", good + record("\x0a", 'a'));
  expect_error([&] { read_cifar({wrong}, {.records = 2}); }, {"wrong.bin", "from 0 to 9 in record 1, found 10"});
  const auto coarse = write("coarse.bin", record("\x14\x01", 'a'));
  expect_error([&] { read_cifar({coarse}, {.classes = 100, .coarse_classes = 20, .records = 1}); },
               {"coarse.bin", "a coarse label from 0 to 19 in record 0, found 20"});
  expect_error([&] { read_cifar({folder() / "none.bin"}, {}); }, {"none.bin", "No such file"});
  expect_error([&] { read_cifar({folder()}, {}); }, {folder().string(), "directory"});
}

TEST_F(CifarTest, MissingFilesComeWithAdvice) {
  expect_error([&] { open_data_set({.name = "cifar10", .folder = folder()}); },
               {"data_batch_1.bin", "samplenorm data fetch cifar10"});
  expect_error([&] { open_data_set({.name = "cifar100", .folder = folder()}); }, {"train.bin", "official binary"});
}

}  // namespace
}  // namespace samplenorm::data
