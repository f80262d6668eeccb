#include <algorithm>

#include "bench/contender.h"

namespace samplenorm::bench {
namespace {

class RingContender : public Contender {
 public:
  explicit RingContender(std::vector<std::unique_ptr<Contender>> layers) : layers_(std::move(layers)) {}

  int layers() const override { return static_cast<int>(layers_.size()); }

  void forward() override {
    for (const auto& layer : layers_) layer->forward();
  }

  /// A layer's results are freed at once, as in a network, where only the layer before it needs its gradient.
  void backward() override {
    std::for_each(layers_.rbegin(), layers_.rend(), [](const auto& layer) {
      layer->backward();
      layer->release();
    });
  }

  LayerAnswer answer() override { return {}; }

  void release() override {}

 private:
  std::vector<std::unique_ptr<Contender>> layers_;
};

}  // namespace

std::unique_ptr<Contender> ring_contender(std::vector<std::unique_ptr<Contender>> layers) {
  return std::make_unique<RingContender>(std::move(layers));
}

}  // namespace samplenorm::bench
