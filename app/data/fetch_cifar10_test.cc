#include "data/fetch_cifar10.h"

#include "data/cifar.h"
#include "data/testing.h"

namespace samplenorm::data {
namespace {

/// A package with `rows` images in each file, and so many labels.
class Cifar10PackageTest : public FolderTest {
 protected:
  void write_package(int64_t rows, const std::string& train_labels, const std::string& test_labels,
                     int64_t width = 1024) {
    for (int i = 1; i <= 5; ++i) write(png_name(i), png_content(rows_of(i, rows, width)));
    write("package/test_batch.png", png_content(rows_of(6, rows, width)));
    write("package/train_lables.json", train_labels);
    write("package/test_lables.json", test_labels);
  }

  static std::string png_name(int i) { return "package/data_batch_" + std::to_string(i) + ".png"; }

  static Image rows_of(int file, int64_t rows, int64_t width) {
    Image image{rows, width, 3, {}};
    for (int64_t i = 0; i < rows * width * 3; ++i) image.bytes.push_back(static_cast<uint8_t>(i * 13 + i / 251 + file));
    return image;
  }

  void convert() const { convert_cifar10_package(folder() / "package", folder()); }
};

TEST_F(Cifar10PackageTest, EachRowBecomesAnImageWithItsLabel) {
  write_package(2, "[0,1,2,3,4,5,6,7,8,9]", "[7,8]");
  convert();
  const auto train = read_cifar(cifar10_train_files(folder()), {.records = 2});
  const auto test = read_cifar({cifar10_test_file(folder())}, {.records = 2});
  ASSERT_EQ(train->size(), 10);
  for (int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(train->label(i), i);
    const Image rows = rows_of(static_cast<int>(i / 2 + 1), 2, 1024);
    const auto row = rows.bytes.begin() + i % 2 * 3072;
    EXPECT_EQ(train->image(i, 0)->bytes, std::vector<uint8_t>(row, row + 3072));
  }
  EXPECT_EQ(test->label(1), 8);
}

TEST_F(Cifar10PackageTest, WhatDoesNotFitIsNamed) {
  write_package(2, "[0,1,2,3,4,5,6,7,8]", "[7,8]");
  expect_error([&] { convert(); }, {"data_batch_5.png", "each of 2 images, found 1"});
  write_package(2, "[0,1,2,3,4,5,6,7,8,9,1]", "[7,8]");
  expect_error([&] { convert(); }, {"train_lables.json", "expected 10 labels", "found 11"});
  write_package(2, "[0,1,2,3,4,5,6,7,8,10]", "[7,8]");
  expect_error([&] { convert(); }, {"train_lables.json", "list of labels from 0 to 9"});
  write_package(2, "[0,1,2,", "[7,8]");
  expect_error([&] { convert(); }, {"train_lables.json", "JSON"});
  write_package(2, "[0,1,2,3,4,5,6,7,8,9]", "[7,8]", 1000);
  expect_error([&] { convert(); }, {"data_batch_1.png", "rows of 1024 pixels, found 1000"});
}

}  // namespace
}  // namespace samplenorm::data
