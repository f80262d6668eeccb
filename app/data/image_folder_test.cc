#include "data/image_folder.h"

#include "data/loader.h"
#include "data/testing.h"

namespace samplenorm::data {
namespace {

class ImageFolderTest : public FolderTest {
 protected:
  void SetUp() override {
    write("train/zebra/b.JPEG", jpeg_content(smooth_image(300, 400)));
    write("train/zebra/a.png", png_content(smooth_image(250, 230)));
    write("train/ant/c.jpg", jpeg_content(smooth_image(240, 600)));
    write("train/ant/.hidden.jpg", "not an image");
    write("train/ant/notes.txt", "not an image");
    write("train/readme.txt", "not a class");
    write("val/zebra/d.jpg", jpeg_content(smooth_image(512, 512)));
  }
  DataSet open(bool strict = false) const {
    return open_data_set({.name = "folder", .folder = folder(), .strict = strict});
  }
};

TEST_F(ImageFolderTest, ClassesAndFilesAreSortedByName) {
  const DataSet set = open();
  EXPECT_EQ(set.classes, 2);
  EXPECT_EQ(set.framing, Framing::kResizedCrop);
  ASSERT_EQ(set.train->size(), 3);
  EXPECT_EQ(set.train->label(0), 0);
  EXPECT_EQ(set.train->label(1), 1);
  EXPECT_EQ(set.train->image(0, 0)->width, 600);  // ant/c.jpg
  EXPECT_EQ(set.train->image(1, 0)->width, 230);  // zebra/a.png
  EXPECT_EQ(set.train->image(2, 150)->height, 150);
  ASSERT_EQ(set.test->size(), 1);
  EXPECT_EQ(set.test->label(0), 1);
  EXPECT_FALSE(set.own_statistics);  // ImageNet's
}

TEST_F(ImageFolderTest, ACorruptImageIsNamedOnceAndAnotherStandsInForIt) {
  write("train/ant/broken.jpg", "\xff\xd8\xff and no more");
  testing::internal::CaptureStderr();
  Loader loader(open(), {.batch = 4});
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    loader.begin(epoch);
    const auto batch = loader.next();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->labels.sum().item<int64_t>(), 2) << "ant stands in for ant";
    EXPECT_EQ(loader.skipped(), 1);
  }
  const std::string warnings = testing::internal::GetCapturedStderr();
  const size_t first = warnings.find("broken.jpg");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(warnings.find("broken.jpg", first + 1), std::string::npos) << warnings;
}

TEST_F(ImageFolderTest, ACorruptImageOfAStrictSetComesOutOfNext) {
  write("train/ant/broken.jpg", "nothing");
  Loader loader(open(true), {.batch = 4});
  loader.begin(0);
  expect_error([&] { loader.next(); }, {"broken.jpg"});
  expect_error([&] { loader.next(); }, {"broken.jpg"});
}

TEST_F(ImageFolderTest, AHalfWithoutOneWholeImageIsAnError) {
  write("val/zebra/d.jpg", "nothing");
  testing::internal::CaptureStderr();
  Loader loader(open(), {.batch = 4, .training = false});
  loader.begin(0);
  expect_error([&] { loader.next(); }, {"none of the 1 images"});
  testing::internal::GetCapturedStderr();
}

TEST_F(ImageFolderTest, WhatIsMissingIsSaid) {
  expect_error([] { open_data_set({.name = "folder"}); }, {"'folder'", "train/CLASS/"});
  expect_error([&] { open_data_set({.name = "folder", .folder = folder() / "none"}); },
               {"none/train", "No such file", "ROOT/train/CLASS/image.jpg"});
  write("val/cat/e.png", png_content(smooth_image(8, 8)));
  expect_error([&] { open(); }, {"val/cat", "classes that the training half has"});
  std::filesystem::remove_all(folder() / "val");
  std::filesystem::create_directories(folder() / "val/zebra");
  expect_error([&] { open(); }, {"val: expected images"});
}

}  // namespace
}  // namespace samplenorm::data
