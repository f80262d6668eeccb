#include "data/statistics.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "samplenorm/error.h"

namespace samplenorm::data {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void add(const std::vector<uint8_t>& bytes) {
    check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }

  std::string hexadecimal() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    check(EVP_DigestFinal_ex(context_.get(), digest, &size) == 1);
    std::string text;
    for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  static void check(bool done) {
    if (!done) throw Error("libcrypto cannot compute SHA-256");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

ChannelStatistics channel_statistics(const ImageSet& set, int64_t channels, int64_t least_side) {
  const auto count = static_cast<size_t>(channels);
  std::vector<uint64_t> sums(count), squares(count);
  uint64_t points = 0;
  for (int64_t i = 0; i < set.size(); ++i) {
    const auto image = set.image(i, least_side);
    if (!image) continue;
    if (image->channels != channels) {
      throw Error(fmt::format("image {}: expected {} channels, found {}", i, channels, image->channels));
    }
    points += image->bytes.size() / count;
    for (size_t c = 0; c < count; ++c) {
      uint64_t sum = 0, square = 0;
      for (size_t at = c; at < image->bytes.size(); at += count) {
        const uint32_t value = image->bytes[at];
        sum += value;
        square += value * value;
      }
      sums[c] += sum;
      squares[c] += square;
    }
  }
  if (points == 0) throw Error("expected images to take the mean of, found none");

  ChannelStatistics statistics;
  for (size_t c = 0; c < count; ++c) {
    const double mean = static_cast<double>(sums[c]) / static_cast<double>(points);
    const double variance = static_cast<double>(squares[c]) / static_cast<double>(points) - mean * mean;
    statistics.mean.push_back(mean / 255);
    statistics.deviation.push_back(std::sqrt(std::max(variance, 0.0)) / 255);
  }
  return statistics;
}

std::vector<int64_t> class_counts(const ImageSet& set, int64_t classes) {
  std::vector<int64_t> counts(static_cast<size_t>(classes));
  for (int64_t i = 0; i < set.size(); ++i) ++counts.at(static_cast<size_t>(set.label(i)));
  return counts;
}

std::string half_digest(const ImageSet& set) {
  Sha256 hash;
  std::vector<uint8_t> record;
  for (int64_t i = 0; i < set.size(); ++i) {
    const auto image = set.image(i, 0);
    if (!image) throw Error(fmt::format("image {}: expected one that can be decoded", i));
    record.assign(1, static_cast<uint8_t>(set.label(i)));
    for (int64_t c = 0; c < image->channels; ++c) {
      for (size_t at = static_cast<size_t>(c); at < image->bytes.size(); at += static_cast<size_t>(image->channels)) {
        record.push_back(image->bytes[at]);
      }
    }
    hash.add(record);
  }
  return hash.hexadecimal();
}

}  // namespace samplenorm::data
