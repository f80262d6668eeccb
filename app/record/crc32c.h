#pragma once

#include <cstdint>
#include <string_view>

namespace samplenorm::record {

/// The CRC with Castagnoli's polynomial (zlib's CRC-32 has another).
uint32_t crc32c(std::string_view bytes);

}  // namespace samplenorm::record
