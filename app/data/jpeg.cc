#include "data/jpeg.h"

#include <fmt/format.h>

#include <csetjmp>
#include <cstddef>
#include <cstdio>
// After <cstdio>, which it needs and does not include.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>

#include "data/photograph.h"
#include "samplenorm/error.h"

namespace samplenorm::data {
namespace {

/// libjpeg reports an error by a call that must not return: we jump back to where decoding began.
struct Trap {
  jpeg_error_mgr manager;  // first, so that libjpeg's pointer to it is a pointer to the trap
  std::jmp_buf begin;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void jump_back(j_common_ptr info) {
  auto* trap = reinterpret_cast<Trap*>(info->err);
  info->err->format_message(info, trap->message);
  std::longjmp(trap->begin, 1);
}

/// libjpeg would fill what is missing with grey and go on. Warnings that cost no pixels (stray bytes, odd headers) are
/// common in good photographs.
void fail_where_pixels_are_lost(j_common_ptr info, int level) {
  if (level >= 0) return;
  const int code = info->err->msg_code;
  if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE) jump_back(info);
}

unsigned smallest_scale(unsigned shorter_side, int64_t least_side) {
  for (unsigned scale = 1; least_side > 0 && scale < 8; ++scale) {
    if ((static_cast<int64_t>(shorter_side) * scale + 7) / 8 >= least_side) return scale;
  }
  return 8;
}

/// A row of CMYK as Adobe writes it, each value inverted, becomes RGB in the same place.
void cmyk_to_rgb(uint8_t* row, int64_t width) {
  for (int64_t x = 0; x < width; ++x) {
    const unsigned key = row[4 * x + 3];
    for (int64_t c = 0; c < 3; ++c) row[3 * x + c] = static_cast<uint8_t>((row[4 * x + c] * key + 127) / 255);
  }
}

/// What lives across a jump, so that nothing with a destructor is made between setjmp and longjmp.
struct Decoder {
  jpeg_decompress_struct info = {};
  Trap trap = {};
  Image image;
  std::vector<uint8_t> row;

  ~Decoder() { jpeg_destroy_decompress(&info); }
};

void read_header(Decoder& decoder, const std::vector<uint8_t>& content) {
  jpeg_create_decompress(&decoder.info);
  jpeg_mem_src(&decoder.info, content.data(), content.size());
  jpeg_read_header(&decoder.info, TRUE);
}

void start(Decoder& decoder, int64_t least_side) {
  auto& info = decoder.info;
  const bool cmyk = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  info.scale_num = smallest_scale(std::min(info.image_width, info.image_height), least_side);
  info.scale_denom = 8;
  jpeg_start_decompress(&info);
}

void read_rows(Decoder& decoder) {
  auto& info = decoder.info;
  const int64_t width = info.output_width;
  while (info.output_scanline < info.output_height) {
    uint8_t* to = decoder.image.bytes.data() + int64_t{info.output_scanline} * width * 3;
    JSAMPROW row = decoder.row.data();
    jpeg_read_scanlines(&info, &row, 1);
    if (info.out_color_space == JCS_CMYK) cmyk_to_rgb(row, width);
    std::copy(row, row + width * 3, to);
  }
  jpeg_finish_decompress(&info);
}

/// False with a message in the trap if libjpeg gave up. Only what the caller owns changes behind setjmp.
bool decode(Decoder& decoder, const std::vector<uint8_t>& content, const std::string& name, int64_t least_side) {
  decoder.info.err = jpeg_std_error(&decoder.trap.manager);
  decoder.trap.manager.error_exit = jump_back;
  decoder.trap.manager.emit_message = fail_where_pixels_are_lost;
  if (setjmp(decoder.trap.begin) != 0) return false;
  read_header(decoder, content);
  check_pixels(decoder.info.image_height, decoder.info.image_width, name);
  start(decoder, least_side);
  decoder.image = {decoder.info.output_height, decoder.info.output_width, 3, {}};
  decoder.image.bytes.resize(static_cast<size_t>(decoder.image.height * decoder.image.width * 3));
  decoder.row.resize(static_cast<size_t>(decoder.info.output_width) * 4);
  read_rows(decoder);
  return true;
}

}  // namespace

bool is_jpeg(const std::vector<uint8_t>& content) {
  return content.size() >= 3 && content[0] == 0xff && content[1] == 0xd8 && content[2] == 0xff;
}

Image decode_jpeg(const std::vector<uint8_t>& content, const std::string& name, int64_t least_side) {
  Decoder decoder;
  if (decode(decoder, content, name, least_side)) return std::move(decoder.image);
  throw Error(fmt::format("{}: expected a whole JPEG image, but: {}", name, decoder.trap.message));
}

}  // namespace samplenorm::data
