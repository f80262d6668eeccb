#include "data/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "data/keyed_random.h"
#include "data/memory_images.h"
#include "data/source.h"
#include "data/statistics.h"
#include "samplenorm/error.h"

namespace samplenorm::data {
namespace {

struct Look {
  std::vector<int64_t> colour;  ///< of each channel, 88 to 168
  int64_t across;               ///< waves over the image's width
  int64_t down;                 ///< and over its height
};

Look look_of(int64_t label, const SyntheticOptions& options) {
  KeyedRandom random(Purpose::kSynthetic, {options.seed, 0, static_cast<uint64_t>(label)});
  Look look{{}, 1 + random.below(4), 1 + random.below(4)};
  for (int64_t c = 0; c < options.channels; ++c) look.colour.push_back(88 + random.below(81));
  return look;
}

/// Up and down between -32 and 32 with a period of 128.
int64_t triangle(int64_t at) { return std::abs(at % 128 - 64) - 32; }

void append_image(const Look& look, const SyntheticOptions& options, KeyedRandom random, std::vector<uint8_t>& bytes) {
  const int64_t phase = random.below(128);
  for (int64_t y = 0; y < options.side; ++y) {
    for (int64_t x = 0; x < options.side; ++x) {
      const int64_t stripe = triangle(phase + (y * look.down + x * look.across) * 128 / options.side);
      for (const int64_t colour : look.colour) {
        const int64_t noise = random.below(81) - 40;
        bytes.push_back(static_cast<uint8_t>(std::clamp<int64_t>(colour + stripe + noise, 0, 255)));
      }
    }
  }
}

std::shared_ptr<const ImageSet> make_half(const SyntheticOptions& options, uint64_t half, int64_t count) {
  std::vector<Look> looks;
  for (int64_t label = 0; label < options.classes; ++label) looks.push_back(look_of(label, options));
  std::vector<uint8_t> bytes, labels;
  bytes.reserve(static_cast<size_t>(count * options.side * options.side * options.channels));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = i % options.classes;
    labels.push_back(static_cast<uint8_t>(label));
    append_image(looks[static_cast<size_t>(label)], options,
                 KeyedRandom(Purpose::kSynthetic, {options.seed, half, static_cast<uint64_t>(i)}), bytes);
  }
  return std::make_shared<MemoryImages>(options.side, options.side, options.channels, std::move(bytes),
                                        std::move(labels));
}

}  // namespace

DataSet make_synthetic(const SyntheticOptions& options) {
  if (std::min({options.train, options.test, options.classes, options.channels, options.side}) < 1 ||
      options.classes > 256) {
    throw Error(
        fmt::format("synthetic images: expected positive sizes and at most 256 classes, got {} + {} images of "
                    "{} x {} x {} in {} classes",
                    options.train, options.test, options.channels, options.side, options.side, options.classes));
  }
  auto train = make_half(options, 1, options.train);
  auto [mean, deviation] = channel_statistics(*train, options.channels);
  return {.name = "synthetic",
          .classes = options.classes,
          .channels = options.channels,
          .side = options.side,
          .framing = Framing::kPadAndCrop,
          .mean = std::move(mean),
          .deviation = std::move(deviation),
          .train = std::move(train),
          .test = make_half(options, 2, options.test)};
}

Source synthetic_source() {
  return {.name = "synthetic",
          .what = "2,048 + 512 made-up colour images of 32 x 32, 10 classes, for tests",
          .open = [](const DataOptions&) { return make_synthetic({}); },
          .fetch = [](const std::filesystem::path&,
                      const Say& say) { say("synthetic needs no fetching: its images are made when they are used"); },
          .train = {0, "736dae88b9f4558abf198d096ac1722d6d0db1e96d59cbe255d5e509c05b2c01"},
          .test = {0, "2ea78e258bff6928114dd2456a03337008eb9af1e5d4e9c45855b722fa84d5d7"}};
}

}  // namespace samplenorm::data
