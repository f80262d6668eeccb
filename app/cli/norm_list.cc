#include "cli/norm_list.h"

#include "models/norm_by_name.h"
#include "samplenorm/notation.h"

namespace samplenorm::cli {
namespace {

constexpr int64_t kAnyChannels = 64;

std::string problem_of(const std::string& list) {
  for (const auto& name : split_norm_list(list)) {
    try {
      models::norm_by_name(name, kAnyChannels);
    } catch (const Error& error) {
      return error.what();
    }
  }
  return "";
}

}  // namespace

CLI::Option* add_norm_list(CLI::App& command, std::string& list, const std::string& help) {
  return command.add_option("--norm", list, help)
      ->check(CLI::Validator(problem_of, "", "norms"))
      ->type_name("A,B,..")
      ->capture_default_str();
}

std::vector<std::string> split_norm_list(const std::string& list) { return CLI::detail::split(list, ','); }

}  // namespace samplenorm::cli
