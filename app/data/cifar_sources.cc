// CIFAR-10 and CIFAR-100: 50,000 + 10,000 colour images of 32 x 32.

#include <fmt/format.h>

#include "data/cifar.h"
#include "data/fetch_cifar10.h"
#include "data/source.h"
#include "data/statistics.h"
#include "samplenorm/error.h"

namespace samplenorm::data {
namespace {

void expect_files(const std::vector<std::filesystem::path>& files, const std::string& advice) {
  for (const auto& file : files) {
    std::error_code unreadable_is_missing;
    if (!std::filesystem::exists(file, unreadable_is_missing)) {
      throw Error(fmt::format("{}: there is no such file; {}", file.string(), advice));
    }
  }
}

DataSet whole(const std::string& name, int64_t classes, std::shared_ptr<const ImageSet> train,
              std::shared_ptr<const ImageSet> test) {
  auto [mean, deviation] = channel_statistics(*train, kCifarChannels);
  return {.name = name,
          .classes = classes,
          .channels = kCifarChannels,
          .side = kCifarSide,
          .framing = Framing::kPadAndCrop,
          .mean = std::move(mean),
          .deviation = std::move(deviation),
          .train = std::move(train),
          .test = std::move(test)};
}

DataSet open_cifar10(const DataOptions& options) {
  const auto train = cifar10_train_files(options.folder);
  const auto test = cifar10_test_file(options.folder);
  auto all = train;
  all.push_back(test);
  expect_files(all, "`samplenorm data fetch cifar10` gets CIFAR-10");
  const CifarFormat format{.classes = 10};
  return whole("cifar10", 10, read_cifar(train, format), read_cifar({test}, format));
}

constexpr const char* kCifar100Advice =
    "CIFAR-100 is expected as train.bin and test.bin of its official binary version";

DataSet open_cifar100(const DataOptions& options) {
  const auto train = options.folder / "train.bin", test = options.folder / "test.bin";
  expect_files({train, test}, kCifar100Advice);
  CifarFormat format{.classes = 100, .coarse_classes = 20, .records = 50000};
  auto train_half = read_cifar({train}, format);
  format.records = 10000;
  return whole("cifar100", 100, std::move(train_half), read_cifar({test}, format));
}

}  // namespace

Source cifar10_source() {
  return {.name = "cifar10",
          .what = "CIFAR-10: 50,000 + 10,000 colour images of 32 x 32, 10 classes",
          .open = open_cifar10,
          .fetch = fetch_cifar10,
          // Of the official files: `cat data_batch_?.bin | sha256sum` and `sha256sum test_batch.bin`.
          .train = {5000, "a0181da372c0d63a5920fdbea2ec3f83ecbc552d378218e1cb473cf634941a3b"},
          .test = {1000, "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"}};
}

Source cifar100_source() {
  return {.name = "cifar100",
          .what = "CIFAR-100: the same in 100 classes",
          .open = open_cifar100,
          .fetch =
              [](const std::filesystem::path& folder, const Say&) {
                throw Error(fmt::format("cifar100 cannot be fetched: {}, in {}", kCifar100Advice, folder.string()));
              },
          .train = {500, ""},
          .test = {100, ""}};
}

}  // namespace samplenorm::data
