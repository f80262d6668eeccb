#include "cli/layer_timing.h"

#include <torch/torch.h>

#include <functional>

#include "cli/stopwatch.h"

namespace samplenorm::cli {
namespace {

constexpr int kWarmUpRounds = 2;

struct Contender {
  LayerTiming timing;
  std::function<void()> work;
};

Contender norm_contender(const std::string& name, const LayerCase& layer_case, const LayerTensors& tensors) {
  const auto layer = make_layer(name, tensors);
  return {{name, sampled_part(*layer, layer_case), {}},
          [layer, tensors] { forward_backward(*layer, tensors.x, tensors.dy); }};
}

Contender copy_contender(const LayerTensors& tensors) {
  const auto x = tensors.x.detach();
  auto y = torch::empty_like(x);
  auto dx = torch::empty_like(x);
  return {{kCopyName, 0, {}}, [x, dy = tensors.dy, y, dx]() mutable {
            y.copy_(x);
            torch::add_out(dx, dy, x, /*alpha=*/0.5);
          }};
}

}  // namespace

std::vector<LayerTiming> time_layer(const LayerCase& layer_case, const LayerTensors& tensors,
                                    const std::vector<std::string>& norms, const Effort& effort) {
  std::vector<Contender> contenders;
  for (const auto& norm : norms) contenders.push_back(norm_contender(norm, layer_case, tensors));
  contenders.push_back(copy_contender(tensors));

  for (int round = 0; round < kWarmUpRounds; ++round) {
    for (const auto& contender : contenders) contender.work();
  }
  const Stopwatch since_begin;
  for (int round = 0; round < effort.rounds || since_begin.seconds() < effort.seconds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      auto& contender = contenders[(i + static_cast<size_t>(round)) % contenders.size()];
      const Stopwatch watch;
      contender.work();
      contender.timing.seconds.push_back(watch.seconds());
    }
  }
  std::vector<LayerTiming> timings;
  for (auto& contender : contenders) timings.push_back(std::move(contender.timing));
  return timings;
}

}  // namespace samplenorm::cli
