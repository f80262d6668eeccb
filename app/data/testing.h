#pragma once

// What the tests of this folder share: a folder of their own, errors that must be one sentence, images as files.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>
// After <cstdio>, which it needs and does not include.
#include <jpeglib.h>
#include <png.h>

#include "data/data_set.h"
#include "data/files.h"
#include "samplenorm/error.h"

namespace samplenorm::data {

class FolderTest : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    const auto file = folder() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file;
  }
  std::filesystem::path write(const std::string& name, const std::vector<uint8_t>& content) const {
    return write(name, std::string(content.begin(), content.end()));
  }

  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_{testing::TempDir() + "samplenorm_data"};
};

/// The message must have every one of `parts`, and be one sentence.
template <class Action>
void expect_error(const Action& action, const std::vector<std::string>& parts) {
  try {
    action();
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const auto& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

/// Smooth, so that JPEG keeps it nearly, and another in each channel.
inline Image smooth_image(int64_t height, int64_t width, int64_t channels = 3) {
  Image image{height, width, channels, {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        image.bytes.push_back(static_cast<uint8_t>(40 + 50 * c + 60 * y / height + 40 * x / width));
      }
    }
  }
  return image;
}

/// RGB for three channels, grey for one.
inline std::vector<uint8_t> png_content(const Image& image) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = image.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::vector<uint8_t> content(size);
  EXPECT_TRUE(png_image_write_to_memory(&png, content.data(), &size, 0, image.bytes.data(), 0, nullptr));
  content.resize(size);
  return content;
}

/// The same for JPEG; four channels are CMYK as Adobe writes it.
inline std::vector<uint8_t> jpeg_content(const Image& image) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = static_cast<int>(image.channels);
  info.in_color_space = image.channels == 4 ? JCS_CMYK : image.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  jpeg_start_compress(&info, TRUE);
  for (int64_t y = 0; y < image.height; ++y) {
    auto* row = const_cast<uint8_t*>(image.bytes.data()) + y * image.width * image.channels;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::vector<uint8_t> content(memory, memory + size);
  free(memory);
  return content;
}

}  // namespace samplenorm::data
