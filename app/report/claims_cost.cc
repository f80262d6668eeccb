// Fig. 1a: what BN costs of a network's training speed.

#include <fmt/format.h>

#include <cmath>

#include "report/claims_by_study.h"
#include "report/comparisons.h"

namespace samplenorm::report {
namespace {

// The paper's range; a cost counts as the paper's if it is at most 2 points below: its text says "more than 30 %".
constexpr double kLeast = 0.32, kMost = 0.43, kTolerance = 0.02;

struct Network {
  const record::StudyRecords* source = nullptr;
  const nlohmann::json* fields = nullptr;
};

Network network_of(const Studies& studies, const std::string& model) {
  for (const auto* source : records_of(studies, "cost"))
    for (const auto& result : source->results)
      if (text_in(result.fields, "model") == model) return {source, &result.fields};
  return {};
}

/// The part of the speed without normalization that a norm takes away; NaN where it was not measured.
double cost_of(const Network& network, const char* name) {
  if (network.fields == nullptr || !network.fields->contains("norms")) return std::nan("");
  for (const auto& norm : (*network.fields)["norms"])
    if (text_in(norm, "norm") == name) return 1 - number_in(norm, "speed");
  return std::nan("");
}

double outside_of_range(double cost) {
  if (cost < kLeast) return cost - kLeast;
  return cost > kMost ? cost - kMost : 0;
}

/// Holds if PyTorch's BatchNorm costs at least what the paper says; dearer still is no less true.
std::optional<Finding> bn_is_costly(const Network& network) {
  const double cost = cost_of(network, "torch");
  if (std::isnan(cost)) return std::nullopt;
  std::string others;
  for (const auto* name : {"BN", "LS-1/64"})
    if (const double other = cost_of(network, name); !std::isnan(other))
      others += fmt::format("{}{} {}", others.empty() ? "Our kernels: " : ", ", name, percent(other));
  return Finding{cost >= kLeast - kTolerance, percent(cost), signed_points(outside_of_range(cost)),
                 others.empty() ? "" : others + "."};
}

std::string set_up_of(const Network& network) {
  constexpr const char* kPaper = "The paper: V100 GPUs, where convolutions are far faster than here.";
  if (network.fields == nullptr) return kPaper;
  return fmt::format(
      "Here: a CPU, batches of {:g} images of {:g} x {:g}, PyTorch's BatchNorm against none ({} form). {}",
      number_in(*network.fields, "batch"), number_in(*network.fields, "side"), number_in(*network.fields, "side"),
      network.source->scale, kPaper);
}

}  // namespace

void judge_cost(const Studies& studies, std::vector<Claim>& claims) {
  for (const auto* model : {"resnet18", "resnet50"}) {
    const auto network = network_of(studies, model);
    Judge(claims, "cost", network.source, set_up_of(network))
        .add("Fig. 1a", fmt::format("BN takes a third or more of the training speed of {}.", model_name(model)),
             "32-43 %", bn_is_costly(network));
  }
}

}  // namespace samplenorm::report
