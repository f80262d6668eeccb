#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "samplenorm/norm.h"
#include "samplenorm/notation.h"

namespace samplenorm::cli {
namespace {

void print_text(const std::vector<MethodInfo>& infos) {
  for (const auto& info : infos) fmt::print("  {:<10} {}: {}\n", info.notation, info.title, info.summary);
}

nlohmann::json to_json(const std::vector<MethodInfo>& infos) {
  auto list = nlohmann::json::array();
  for (const auto& info : infos) {
    list.push_back({{"notation", info.notation}, {"title", info.title}, {"summary", info.summary}});
  }
  return list;
}

void print_methods(bool as_json) {
  if (as_json) {
    fmt::print("{}\n",
               nlohmann::json{{"sampling", to_json(methods())}, {"comparison", to_json(comparison_norms())}}.dump(2));
    return;
  }
  fmt::print("Sampling methods, with the part a/b of the data that their statistics come from:\n");
  print_text(methods());
  fmt::print("\nOthers, to compare with:\n");
  print_text(comparison_norms());
  fmt::print("\nTwo are mixed with a plus, options follow a semicolon: 'FS-1/64+VDN-2/128;beta=0.3'.\n");
}

}  // namespace

void add_methods(CLI::App& program) {
  CLI::App* command = program.add_subcommand("methods", "List every normalization and its notation");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->footer("Example:\n  samplenorm methods --json");
  command->callback([json] { print_methods(*json); });
}

}  // namespace samplenorm::cli
