// samplenorm data fetch|verify|stats NAME

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/json_file.h"
#include "cli/machine.h"
#include "cli/text_table.h"
#include "data/framer.h"
#include "data/source.h"
#include "data/statistics.h"
#include "data/verify.h"

namespace samplenorm::cli {
namespace {

struct DataCommand {
  std::string name;
  std::string folder;
  std::string json;

  data::DataOptions options() const { return {.name = name, .folder = folder}; }
};

struct HalfStatistics {
  std::vector<int64_t> counts;
  data::ChannelStatistics channels;
};

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void fetch(const DataCommand& command) {
  const auto& source = data::find_source(command.name);
  source.fetch(data::folder_of(source, command.folder), say);
}

void verify(const DataCommand& command) {
  for (const auto& line : data::verify_data_set(command.options())) say(line);
}

HalfStatistics statistics_of(const data::ImageSet& half, const data::DataSet& set) {
  // Photographs are decoded at the size that evaluation uses, which is faster and changes little.
  const int64_t least_side = data::Framer(set, false).least_side();
  return {data::class_counts(half, set.classes), data::channel_statistics(half, set.channels, least_side)};
}

std::vector<std::string> table_row(const std::string& name, const data::ImageSet& half, const HalfStatistics& found) {
  const auto [least, most] = std::minmax_element(found.counts.begin(), found.counts.end());
  return {name, fmt::format("{}", half.size()),
          *least == *most ? fmt::format("{}", *least) : fmt::format("{} to {}", *least, *most),
          fmt::format("{:.4f}", fmt::join(found.channels.mean, " ")),
          fmt::format("{:.4f}", fmt::join(found.channels.deviation, " "))};
}

nlohmann::json to_json(const data::ImageSet& half, const HalfStatistics& found) {
  return {{"images", half.size()},
          {"class_counts", found.counts},
          {"mean", found.channels.mean},
          {"deviation", found.channels.deviation}};
}

void stats(const DataCommand& command, const std::string& line) {
  std::optional<JsonFile> file;
  if (!command.json.empty()) file.emplace(command.json);
  const auto set = data::open_data_set(command.options());
  const auto train = statistics_of(*set.train, set), test = statistics_of(*set.test, set);
  fmt::print("{}: {} classes, {} x {} pixels, {} channel(s)\n\n{}", set.name, set.classes, set.side, set.side,
             set.channels,
             text_table({{"half", "images", "of each class", "mean", "deviation"},
                         table_row("training", *set.train, train),
                         table_row("test", *set.test, test)}));
  if (!file) return;

  auto record = record_header(line);
  record["data"] = set.name;
  record["classes"] = set.classes;
  record["channels"] = set.channels;
  record["side"] = set.side;
  record["train"] = to_json(*set.train, train);
  record["test"] = to_json(*set.test, test);
  file->write(record);
}

CLI::App* add_subcommand(CLI::App& data, const std::string& name, const std::string& what, DataCommand& options) {
  CLI::App* command = data.add_subcommand(name, what);
  std::vector<std::string> names;
  for (const auto& source : data::sources()) names.push_back(source.name);
  command->add_option("NAME", options.name, "The data set")->required()->check(CLI::IsMember(names));
  command->add_option("--folder", options.folder, "Where it is; without it where `samplenorm data fetch` puts it");
  std::string footer = "Data sets:\n";
  for (const auto& source : data::sources()) footer += fmt::format("  {:<14} {}\n", source.name, source.what);
  command->footer(footer + fmt::format("\nExample:\n  samplenorm data {} cifar10", name));
  return command;
}

}  // namespace

void add_data(CLI::App& program, const std::string& command) {
  CLI::App* data = program.add_subcommand("data", "Get, check and describe data sets");
  data->require_subcommand(1);
  data->footer("Example:\n  samplenorm data fetch cifar10");
  auto options = std::make_shared<DataCommand>();
  add_subcommand(*data, "fetch", "Get a data set, unless it is there", *options)->callback([options] {
    fetch(*options);
  });
  add_subcommand(*data, "verify", "Compare a data set with what is known of it", *options)->callback([options] {
    verify(*options);
  });
  CLI::App* statistics = add_subcommand(*data, "stats", "Mean and deviation of each channel, and counts", *options);
  statistics->add_option("--json", options->json, "Write the figures to this file too");
  statistics->callback([options, command] { stats(*options, command); });
}

}  // namespace samplenorm::cli
