#include "data/fashion_mnist.h"

#include <fmt/format.h>

#include <string>

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

}  // namespace

FashionMnist load_fashion_mnist(const std::filesystem::path& folder) {
  return {load_part(folder, "train"), load_part(folder, "t10k")};
}

}  // namespace samplenorm::data
