#include "cli/step_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/machine.h"
#include "cli/norm_list.h"
#include "models/model.h"
#include "samplenorm/error.h"

namespace samplenorm::cli {
namespace {

std::string problem_of_model(const std::string& name) {
  try {
    models::model_info(name);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

std::vector<std::string> StepOptions::norm_names() const {
  std::vector<std::string> names;
  for (const auto& norm : split_norm_list(norms))
    if (std::find(names.begin(), names.end(), norm) == names.end()) names.push_back(norm);
  return names;
}

bench::StepCase StepOptions::make_case() const {
  const int64_t pixels = side > 0 ? side : models::model_info(model).side;
  return bench::make_step_case(model, batch > 0 ? batch : pixels < 64 ? 128 : 32, pixels);
}

void add_step_options(CLI::App& command, StepOptions& options) {
  command.add_option("--model", options.model, "The network: resnet20, resnet50, densenet121, mobilenet_v2, ...")
      ->required(options.model.empty())
      ->check(CLI::Validator(problem_of_model, "", "model"))
      ->capture_default_str();
  add_norm_list(command, options.norms, "Norms to time; 'torch' is libtorch's BatchNorm2d");
  command.add_option("--batch", options.batch, "Images in a step; by default 128 small ones or 32 large ones")
      ->check(CLI::PositiveNumber);
  command.add_option("--side", options.side, "Height and width of the images; by default the model's own")
      ->check(CLI::PositiveNumber);
  command.add_flag("--quick", options.quick, "Fewer rounds: figures to look at, not to publish");
  command.add_option("--json", options.json, "Write the figures to this file too");
}

std::string describe(const bench::StepCase& step) {
  const auto& images = step.images;
  return fmt::format("{}, {} images of {} x {}, float32, channels_last, on {}", step.model, images.size(0),
                     images.size(2), images.size(3), machine_line());
}

void add_to_record(const bench::StepCase& step, nlohmann::json& record) {
  record["model"] = step.model;
  record["batch"] = step.images.size(0);
  record["side"] = step.images.size(2);
}

}  // namespace samplenorm::cli
