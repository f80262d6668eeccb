#include "bench/goals.h"

#include <algorithm>
#include <functional>

#include "bench/quartiles.h"

namespace samplenorm::bench {
namespace {

/// How well one of our measurements does in its case; nothing where its rival was not measured.
using Score = std::function<std::optional<double>(const Measurements&, const Measurement&)>;
using Class = std::function<bool(const Measurement&)>;

struct Rule {
  std::string id;
  std::string what;
  double must;
  double aim;
  Class is_of_class;  ///< which of our measurements count
  Score score;
  bool over_both_formats = false;
};

Score against(const std::string& norm, const std::string& path, Phase phase = &Seconds::both) {
  return [=](const Measurements& all, const Measurement& ours) -> std::optional<double> {
    const auto* rival = find(all, ours, norm, path);
    if (rival == nullptr) return std::nullopt;
    return speed_against(*rival, ours, phase);
  };
}

Score against_limit(Phase phase = &Seconds::both) { return against(kLimit, "", phase); }

std::optional<double> against_onednn(const Measurements& all, const Measurement& ours) {
  const auto* rival = fastest_onednn(all, ours);
  if (rival == nullptr) return std::nullopt;
  return speed_against(*rival, ours);
}

Class relu_in(const char* format, bool large, const char* path) {
  return [=](const Measurement& m) {
    return m.fusion == Fusion::kRelu && m.format == format && is_large(m.sizes) == large && m.path == path;
  };
}

/// Small tensors below autograd, whose own cost would hide the kernels'.
Class contiguous_maps(bool big) {
  return [=](const Measurement& m) {
    return m.fusion == Fusion::kRelu && m.format == kContiguous && has_big_map(m.sizes) == big &&
           m.path == (is_large(m.sizes) ? kAutograd : kRaw);
  };
}

Class through_autograd(bool large, Fusion fusion) {
  return [=](const Measurement& m) { return m.path == kAutograd && m.fusion == fusion && is_large(m.sizes) == large; };
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> list{
        {"nhwc_large_forward", "Speed of BN+ReLU's forward in parts of the limit, large tensors, channels_last", 0.85,
         0.95, relu_in(kChannelsLast, true, kAutograd), against_limit(&Seconds::forward)},
        {"nhwc_large_backward", "Speed of BN+ReLU's backward in parts of the limit, large tensors, channels_last", 0.80,
         0.90, relu_in(kChannelsLast, true, kAutograd), against_limit(&Seconds::backward)},
        {"nhwc_small_raw",
         "Speed of BN+ReLU, forward and backward below autograd, in parts of the limit, small tensors, channels_last",
         0.75, 0.90, relu_in(kChannelsLast, false, kRaw), against_limit()},
        {"nchw_big_maps",
         "Speed of BN+ReLU, forward and backward, in parts of the limit, contiguous, maps of 28 x 28 and more (small "
         "tensors below autograd)",
         0.75, 0.90, contiguous_maps(true), against_limit()},
        {"nchw_small_maps",
         "Speed of BN+ReLU, forward and backward, in parts of the limit, contiguous, maps below 28 x 28 (small tensors "
         "below autograd)",
         0.50, 0.75, contiguous_maps(false), against_limit()}};
    struct AgainstTorch {
      const char* id;
      bool large;
      Fusion fusion;
      double must, aim;
    };
    for (const auto& [id, large, fusion, must, aim] :
         {AgainstTorch{"torch_large_bn", true, Fusion::kNone, 2.0, 2.5},
          {"torch_large_bn_relu", true, Fusion::kRelu, 3.0, 4.0},
          {"torch_large_bn_add_relu", true, Fusion::kAddRelu, 2.6, 3.5},
          {"torch_small_bn", false, Fusion::kNone, 1.8, 3.0},
          {"torch_small_bn_relu", false, Fusion::kRelu, 2.5, 4.0},
          {"torch_small_bn_add_relu", false, Fusion::kAddRelu, 2.0, 3.0}}) {
      list.push_back({id,
                      std::string("Speed of ") + name_of(fusion) + ", forward and backward through autograd, against " +
                          "libtorch's, " + (large ? "large" : "small") + " tensors, both memory formats",
                      must, aim, through_autograd(large, fusion), against(kTorch, kAutograd), true});
    }
    list.push_back(
        {"onednn_best",
         "Speed of BN+ReLU, forward and backward below autograd, against the fastest of oneDNN's formats, all "
         "shapes, both memory formats",
         1.5, 2.0, [](const Measurement& m) { return m.path == kRaw && m.fusion == Fusion::kRelu; }, against_onednn,
         true});
    list.push_back({"exact_bn",
                    "Speed, forward and backward through autograd, against our own exact BN with the same fusion, all "
                    "shapes, fusions and memory formats",
                    1.4, 1.6, [](const Measurement& m) { return m.path == kAutograd; }, against(kExactNorm, kAutograd),
                    true});
    return list;
  }();
  return rules;
}

/// The worse of the sampled norms in the case of `first`, the measurement of the first of them.
std::optional<double> worst_in_case(const Measurements& all, const Measurement& first, const Score& score) {
  std::optional<double> worst;
  for (const char* norm : kSampledNorms) {
    const auto* ours = find(all, first, norm, first.path);
    const auto value = ours == nullptr ? std::nullopt : score(all, *ours);
    if (!value) return std::nullopt;
    worst = worst ? std::min(*worst, *value) : *value;
  }
  return worst;
}

/// `format`: of the cases that count; empty: all.
Goal measure(const Rule& rule, const Measurements& all, const std::string& format) {
  std::vector<double> values;
  for (const auto& measurement : all) {
    if (measurement.norm != kSampledNorms[0] || !rule.is_of_class(measurement)) continue;
    if (!format.empty() && measurement.format != format) continue;
    if (const auto value = worst_in_case(all, measurement, rule.score)) values.push_back(*value);
  }
  Goal goal{rule.id, rule.what, format, std::nullopt, rule.must, rule.aim};
  if (!values.empty()) goal.value = geometric_mean(values);
  return goal;
}

/// The scores of one norm's measurements of a class.
std::vector<double> scores(const Measurements& all, const char* norm, const Class& is_of_class, const Score& score) {
  std::vector<double> values;
  for (const auto& measurement : all)
    if (measurement.norm == norm && is_of_class(measurement))
      if (const auto value = score(all, measurement)) values.push_back(*value);
  return values;
}

}  // namespace

bool is_large(const std::vector<int64_t>& sizes) {
  int64_t bytes = sizeof(float);
  for (const int64_t size : sizes) bytes *= size;
  return bytes > kLargeBytes;
}

bool has_big_map(const std::vector<int64_t>& sizes) { return sizes[2] >= 28 && sizes[3] >= 28; }

std::vector<Goal> goals(const Measurements& all) {
  std::vector<Goal> list;
  for (const auto& rule : rules()) list.push_back(measure(rule, all, ""));
  return list;
}

std::vector<Goal> goals_by_format(const Measurements& all) {
  std::vector<Goal> list;
  for (const auto& rule : rules()) {
    if (!rule.over_both_formats) continue;
    for (const char* format : {kChannelsLast, kContiguous}) list.push_back(measure(rule, all, format));
  }
  return list;
}

std::vector<Goal> ring_goals(const Measurements& all) {
  constexpr const char* kNorm = "LS-1/64";
  constexpr int64_t kBytes = 10'000'000;
  const auto of = [](Fusion fusion, const char* format) {
    return [=](const Measurement& m) {
      const int64_t bytes = 4 * m.sizes[0] * m.sizes[1] * m.sizes[2] * m.sizes[3];
      return m.fusion == fusion && (*format == 0 || (m.format == format && bytes >= kBytes));
    };
  };
  const Class large_relu = of(Fusion::kRelu, kChannelsLast), plain = of(Fusion::kNone, "");
  const auto mean = [&](Goal goal, const Class& is_of_class, const Score& score) {
    if (const auto values = scores(all, kNorm, is_of_class, score); !values.empty())
      goal.value = geometric_mean(values);
    return goal;
  };
  Goal worst{"ring_exact_bn",
             "Speed of our exact BN, forward and backward, against libtorch's, the worst of all shapes and formats",
             "",
             std::nullopt,
             1.0,
             1.3};
  if (const auto values = scores(all, kExactNorm, plain, against(kTorch, kAutograd)); !values.empty())
    worst.value = *std::ranges::min_element(values);
  return {
      mean({"ring_forward", "Speed of LS-1/64+ReLU's forward in parts of a copy, channels_last, 10 MB and more", "",
            std::nullopt, 0.90, 1.0},
           large_relu, against_limit(&Seconds::forward)),
      mean({"ring_backward", "Speed of LS-1/64+ReLU's backward in parts of triad, channels_last, 10 MB and more", "",
            std::nullopt, 0.80, 0.95},
           large_relu, against_limit(&Seconds::backward)),
      mean(
          {"ring_torch",
           "Speed of LS-1/64+ReLU, forward and backward, against libtorch's, pages kept for both, channels_last, 10 MB "
           "and more",
           "", std::nullopt, 2.5, 3.5},
          large_relu, against(kTorch, kAutograd)),
      worst};
}

std::string verdict(const Goal& goal) {
  if (!goal.value) return "not measured";
  if (*goal.value >= goal.aim) return "aim reached";
  return *goal.value >= goal.must ? "reached" : "missed";
}

}  // namespace samplenorm::bench
