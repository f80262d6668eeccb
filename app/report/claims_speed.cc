// Figs. 8a and 8b, Table 3 and appendix C.1: how much faster training is. All gains are against PyTorch's BatchNorm, as
// the paper's are against its framework's; the notes give those against our own exact BN.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/claims_by_study.h"
#include "report/comparisons.h"
#include "report/network_speeds.h"

namespace samplenorm::report {
namespace {

using Rule = std::optional<Finding>;
using Networks = std::vector<NetworkSpeeds>;
using Speed = double NormSpeed::*;

// A gain is the paper's if it is at most 2 points less; for "no gain", if it is at most 2 points more.
constexpr double kTolerance = 0.02;
const std::vector<std::string> kProposed{"BS", "FS", "VDN", "FS+VDN"};

std::string against_our_bn(const NetworkSpeeds* network, const NormSpeed& norm, Speed speed) {
  const auto* bn = find(network, "BN");
  if (bn == nullptr) return "";
  return fmt::format("Against our exact BN: {}.", signed_percent(norm.*speed / (bn->*speed) - 1));
}

struct Row {
  const char *model, *method, *name;
  double ratio, gain;
};

Rule gains_as_much(const Networks& networks, const Row& row) {
  const auto* network = find(networks, row.model);
  const auto* norm = find(network, row.method, row.ratio);
  if (norm == nullptr) return std::nullopt;
  const double gain = norm->step - 1;
  return Finding{gain >= row.gain - kTolerance, signed_percent(gain), signed_points(gain - row.gain),
                 against_our_bn(network, *norm, &NormSpeed::step)};
}

/// For the comparison methods, of which the paper says that they do not help.
Rule gains_little(const Networks& networks, const Row& row) {
  auto finding = gains_as_much(networks, row);
  if (finding)
    finding->holds = find(find(networks, row.model), row.method, row.ratio)->step - 1 <= row.gain + kTolerance;
  return finding;
}

/// The fastest of the paper's methods on any network, by layers or by steps.
Rule reaches(const Networks& networks, Speed speed, double wanted, bool as_ratio) {
  const NetworkSpeeds* where = nullptr;
  const NormSpeed* best = nullptr;
  for (const auto& network : networks)
    for (const auto& method : kProposed)
      if (const auto* norm = find(&network, method);
          norm != nullptr && (best == nullptr || norm->*speed > best->*speed)) {
        best = norm;
        where = &network;
      }
  if (best == nullptr) return std::nullopt;
  const double value = best->*speed;
  return Finding{value >= wanted - kTolerance, as_ratio ? times(value) : signed_percent(value - 1),
                 as_ratio ? fmt::format("{:+.2f}×", value - wanted) : signed_points(value - wanted),
                 sentences({fmt::format("{} on {}.", best->norm.text, model_name(where->model)),
                            against_our_bn(where, *best, speed)})};
}

/// Holds if every norm of `a` has a faster step than every one of `b`, on every network that has both. Each must meet
/// each somewhere: else not all was measured.
Rule faster(const Networks& networks, const std::vector<std::string>& a, const std::vector<std::string>& b) {
  size_t pairs = 0;
  std::vector<std::string> not_so;
  for (const auto& method : a)
    for (const auto& other : b) {
      const size_t before = pairs;
      for (const auto& network : networks) {
        const auto *fast = find(&network, method), *slow = find(&network, other);
        if (fast == nullptr || slow == nullptr) continue;
        ++pairs;
        if (fast->step <= slow->step)
          not_so.push_back(fmt::format("{} {} {}, {} {}", model_name(network.model), fast->norm.text, times(fast->step),
                                       slow->norm.text, times(slow->step)));
      }
      if (pairs == before) return std::nullopt;
    }
  return Finding{not_so.empty(), fmt::format("in {} of {} comparisons", pairs - not_so.size(), pairs), "",
                 not_so.empty() ? "" : fmt::format("Not so: {}.", fmt::join(not_so, "; "))};
}

Rule gains_more_on_densenet(const Networks& networks) {
  const auto *deep = find(find(networks, "densenet121"), "FS+VDN"), *flat = find(find(networks, "resnet18"), "FS+VDN");
  if (deep == nullptr || flat == nullptr) return std::nullopt;
  return Finding{deep->step > flat->step,
                 fmt::format("{} against {}", signed_percent(deep->step - 1), signed_percent(flat->step - 1))};
}

/// Appendix C.1: the layers' directions apart, FS-1/32 on ResNet-18.
Rule direction(const Networks& networks, Speed speed, double paper, bool at_least) {
  const auto* network = find(networks, "resnet18");
  const auto* fs = find(network, "FS", 1.0 / 32);
  if (fs == nullptr || std::isnan(fs->*speed)) return std::nullopt;
  const double gain = fs->*speed - 1;
  return Finding{at_least ? gain >= paper - kTolerance : gain <= paper + kTolerance, signed_percent(gain),
                 signed_points(gain - paper),
                 sentences({"Normalization layers only; our kernels read activations once in each direction.",
                            against_our_bn(network, *fs, speed)})};
}

void judge_table_3(const Networks& networks, Judge& judge) {
  for (const auto& row : {Row{"resnet18", "L1BN", "L1BN", 1, 0.0038}, Row{"resnet18", "RBN", "RBN", 1, 0.0173}})
    judge.add("Table 3", fmt::format("ResNet-18 trains hardly faster with {}.", row.name), signed_percent(row.gain),
              gains_little(networks, row));
  for (const auto& row :
       {Row{"resnet18", "FS", "FS-1/32", 1.0 / 32, 0.107}, Row{"resnet18", "VDN", "VDN-1/128", 1.0 / 128, 0.138},
        Row{"resnet18", "BS", "BS-4/128", 4.0 / 128, 0.165}, Row{"densenet121", "FS+VDN", "FS and VDN", 0, 0.217}})
    judge.add("Table 3", fmt::format("{} trains this much faster with {}.", model_name(row.model), row.name),
              signed_percent(row.gain), gains_as_much(networks, row));
  Networks resnet18;
  if (const auto* network = find(networks, "resnet18")) resnet18.push_back(*network);
  judge.add("Table 3", "Sampling trains ResNet-18 faster than L1BN and RBN.", "always",
            faster(resnet18, {"BS", "FS", "VDN"}, {"L1BN", "RBN"}));
  judge.add("Section 5.2", "DenseNet-121, which has more layers, gains more than ResNet-18 (FS with VDN).", "more",
            gains_more_on_densenet(networks));
}

std::string set_up_of(const Networks& networks) {
  constexpr const char* kPaper = "The paper: V100 GPUs (CIFAR: Titan XP), TensorFlow.";
  if (networks.empty()) return kPaper;
  std::vector<std::string> texts;
  for (const auto& network : networks)
    texts.push_back(fmt::format("{} with {:g} images of {:g} x {:g}", model_name(network.model), network.batch,
                                network.side, network.side));
  return fmt::format("Here: a CPU, gains against PyTorch's BatchNorm, {} ({} form). {}", fmt::join(texts, ", "),
                     networks.front().source->scale, kPaper);
}

}  // namespace

void judge_speed(const Studies& studies, std::vector<Claim>& claims) {
  auto networks = network_speeds(studies, "speed");
  std::erase_if(networks, [](const auto& network) { return network.reference != "torch"; });
  Judge judge(claims, "speed", networks.empty() ? nullptr : networks.front().source, set_up_of(networks));
  judge.add("Fig. 8a", "Normalization becomes up to twice as fast.", "up to 2×",
            reaches(networks, &NormSpeed::layers, 2, true));
  judge.add("Fig. 8b", "Training becomes up to a fifth faster.", "up to +20 %",
            reaches(networks, &NormSpeed::step, 1.2, false));
  judge_table_3(networks, judge);
  judge.add("Section 5.2", "FS gains nothing on CIFAR's small images (ResNet-56).", "no gain",
            gains_little(networks, {"resnet56", "FS", "FS", 0, 0}));
  judge.add("Section 5.2", "BS trains faster than FS and VDN.", "always", faster(networks, {"BS"}, {"FS", "VDN"}));
  judge.add("Appendix C.1",
            "At 1/32 of the data the forward pass of normalization is in theory a third faster (FS, ResNet-18).",
            "+36.7 %", direction(networks, &NormSpeed::forward, 0.367, true));
  judge.add("Appendix C.1", "In theory the backward pass of normalization gains nothing (FS-1/32, ResNet-18).",
            "+0.0 %", direction(networks, &NormSpeed::backward, 0, false));
  judge.add("ours", "Sampling with our kernels trains faster than our exact BN.", "",
            faster(networks, {"NS", "BS", "FS", "LS"}, {"BN"}));
}

}  // namespace samplenorm::report
