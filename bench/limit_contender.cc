#include <torch/torch.h>

#include "bench/contender.h"

namespace samplenorm::bench {
namespace {

class LimitContender : public Contender {
 public:
  LimitContender(const LayerTensors& tensors, Stores stores)
      : x_(tensors.x.detach()),
        residual_(tensors.residual.defined() ? tensors.residual.detach() : torch::Tensor()),
        dy_(tensors.dy),
        stores_(stores) {}

  void forward() override {
    y_ = at::empty_like(x_);
    if (residual_.defined()) {
      triad(data(x_), data(residual_), data(y_), x_.numel(), stores_);
    } else {
      copy(data(x_), data(y_), x_.numel(), stores_);
    }
  }

  void backward() override {
    dx_ = at::empty_like(x_);
    if (residual_.defined()) {
      dresidual_ = at::empty_like(x_);
      triad_and_copy(data(dy_), data(x_), data(dx_), data(dresidual_), x_.numel(), stores_);
    } else {
      triad(data(dy_), data(x_), data(dx_), x_.numel(), stores_);
    }
  }

  LayerAnswer answer() override { return {.y = y_, .dx = dx_, .dweight = {}, .dbias = {}, .dresidual = dresidual_}; }

  void release() override {
    y_.reset();
    dx_.reset();
    dresidual_.reset();
  }

 private:
  static float* data(const torch::Tensor& tensor) { return tensor.data_ptr<float>(); }

  torch::Tensor x_, residual_, dy_;
  Stores stores_;
  torch::Tensor y_, dx_, dresidual_;
};

}  // namespace

std::unique_ptr<Contender> limit_contender(const LayerTensors& tensors, Stores stores) {
  return std::make_unique<LimitContender>(tensors, stores);
}

}  // namespace samplenorm::bench
