#pragma once

// The two 16-bit activation types, stored as IEEE binary16 and as the upper half of a float32. Arithmetic happens in
// float.

#include <bit>
#include <cstdint>

namespace samplenorm {

struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const uint32_t wide = std::bit_cast<uint32_t>(value);
    if (value != value) {
      bits = static_cast<uint16_t>((wide >> 16) | 0x40);  // stay NaN when the lower half is cut off
    } else {
      bits = static_cast<uint16_t>((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16);  // to nearest, ties to even
    }
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value) {
    const uint32_t wide = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (wide >> 16) & 0x8000;
    const uint32_t magnitude = wide & 0x7FFFFFFF;
    uint32_t half;
    if (magnitude > 0x7F800000) {  // NaN
      half = 0x7E00;
    } else if (magnitude >= 0x477FF000) {  // rounds to 65536 or more
      half = 0x7C00;
    } else if (magnitude < 0x38800000) {  // subnormal: adding 0.5 puts the rounded bits at the lower end
      half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000;
    } else {
      half = (magnitude - 0x38000000 + 0xFFF + ((magnitude >> 13) & 1)) >> 13;
    }
    bits = static_cast<uint16_t>(sign | half);
  }
  explicit operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFF) << 13;
    uint32_t wide;
    if (magnitude >= 0x0F800000) {  // infinity and NaN
      wide = magnitude + 0x70000000;
    } else if (magnitude < 0x00800000) {  // zero and subnormals: let the subtraction normalize
      wide = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude + 0x38800000) - 0x1p-14F);
    } else {
      wide = magnitude + 0x38000000;
    }
    return std::bit_cast<float>(sign | wide);
  }
};

/// The type in which an activation type is computed.
template <class T>
struct ComputeType {
  using type = float;
};
template <>
struct ComputeType<double> {
  using type = double;
};
template <class T>
using Compute = typename ComputeType<T>::type;

}  // namespace samplenorm
