#include "core/philox.h"

#include <cmath>
#include <numbers>

namespace samplenorm {
namespace {

uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

}  // namespace

PhiloxBlock philox(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1), high(product0) ^ counter[3] ^ key[1],
               low(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

Stream::Stream(uint64_t seed, Purpose purpose, uint64_t layer, uint64_t time, uint64_t chunk) {
  // Two levels, since seed, layer, time and chunk together are wider than one counter: the first makes the key of the
  // second.
  const PhiloxBlock outer =
      philox({low(layer), low(time), high(time), static_cast<uint32_t>(purpose)}, {low(seed), high(seed)});
  key_ = {outer[0], outer[1]};
  counter_ = {0, 0, low(chunk), high(layer)};
}

uint32_t Stream::next() {
  if (used_ == 4) {
    block_ = philox(counter_, key_);
    if (++counter_[0] == 0) ++counter_[1];
    used_ = 0;
  }
  return block_[static_cast<size_t>(used_++)];
}

uint64_t Stream::below(uint64_t bound) {
  // Numbers below 2^64 mod bound would make small results likelier: draw again.
  const uint64_t too_small = (0 - bound) % bound;
  uint64_t number = next64();
  while (number < too_small) number = next64();
  return number % bound;
}

double Stream::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double uniform = (static_cast<double>(next64() >> 11) + 0.5) * 0x1p-53;  // never 0: its logarithm is taken
  const double angle = 2 * std::numbers::pi * static_cast<double>(next64() >> 11) * 0x1p-53;
  const double radius = std::sqrt(-2 * std::log(uniform));
  has_spare_normal_ = true;
  spare_normal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

}  // namespace samplenorm
