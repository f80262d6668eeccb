#include "data/fashion_mnist.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "data/memory_images.h"
#include "data/source.h"
#include "data/statistics.h"
#include "samplenorm/error.h"

namespace samplenorm::data {
namespace {

std::filesystem::path find(const std::filesystem::path& folder, const std::string& name) {
  for (const char* ending : {".gz", ""}) {
    const auto file = folder / (name + ending);
    std::error_code unreadable_is_missing;
    if (std::filesystem::exists(file, unreadable_is_missing)) return file;
  }
  throw Error(
      fmt::format("{}: expected Fashion-MNIST's file {} (or without .gz), found none; Debian's package "
                  "dataset-fashion-mnist installs it in {}",
                  folder.string(), name + ".gz", kFashionMnistFolder));
}

LabeledImages load_part(const std::filesystem::path& folder, const std::string& part) {
  const auto images = find(folder, part + "-images-idx3-ubyte");
  auto both = read_idx_pair(images, find(folder, part + "-labels-idx1-ubyte"), kFashionMnistClasses);
  if (both.images.size(0) == 0 || both.images.size(2) != 28 || both.images.size(3) != 28) {
    throw Error(fmt::format("{}: expected images of 28 x 28, found {} of {} x {}", images.string(), both.images.size(0),
                            both.images.size(2), both.images.size(3)));
  }
  return both;
}

std::shared_ptr<const ImageSet> in_memory(const LabeledImages& half) {
  const auto* pixels = half.images.const_data_ptr<uint8_t>();
  const auto* labels = half.labels.const_data_ptr<int64_t>();
  std::vector<uint8_t> short_labels;
  for (int64_t i = 0; i < half.labels.numel(); ++i) short_labels.push_back(static_cast<uint8_t>(labels[i]));
  return std::make_shared<MemoryImages>(28, 28, 1, std::vector<uint8_t>(pixels, pixels + half.images.numel()),
                                        std::move(short_labels));
}

DataSet open_fashion_mnist(const DataOptions& options) {
  const FashionMnist both = load_fashion_mnist(options.folder);
  auto train = in_memory(both.train);
  auto [mean, deviation] = channel_statistics(*train, 1);
  return {.name = "fashion-mnist",
          .classes = kFashionMnistClasses,
          .channels = 1,
          .side = 28,
          .framing = Framing::kPadAndCrop,
          .mean = std::move(mean),
          .deviation = std::move(deviation),
          .train = std::move(train),
          .test = in_memory(both.test)};
}

}  // namespace

FashionMnist load_fashion_mnist(const std::filesystem::path& folder) {
  return {load_part(folder, "train"), load_part(folder, "t10k")};
}

Source fashion_mnist_source() {
  return {.name = "fashion-mnist",
          .what = "Fashion-MNIST: 60,000 + 10,000 grey images of 28 x 28, 10 classes",
          .open = open_fashion_mnist,
          .fetch =
              [](const std::filesystem::path&, const Say&) {
                throw Error(fmt::format(
                    "fashion-mnist needs no fetching: Debian's package dataset-fashion-mnist installs it in {}",
                    kFashionMnistFolder));
              },
          .train = {6000, "6d226526ff970f03ea8725a39e125b1ab590f498a25f501e69a46359e7478773"},
          .test = {1000, "c1f40a40017890ce0b14203aa6b8340d8bead8df69f0a9baba26c47b226338ba"},
          .folder = kFashionMnistFolder};
}

}  // namespace samplenorm::data
