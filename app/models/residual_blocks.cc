#include "models/residual_blocks.h"

#include <torch/torch.h>

#include "models/convolutions.h"
#include "models/norm_by_name.h"

namespace samplenorm::models {
namespace {

bool keeps_shape(const BlockShape& shape, int64_t outputs) { return shape.stride == 1 && shape.inputs == outputs; }

torch::nn::Sequential projection(const ModelOptions& options, const BlockShape& shape, int64_t outputs) {
  torch::nn::Sequential made;
  made->push_back(convolution(shape.inputs, outputs, 1, shape.stride));
  made->push_back(norm_of_model(options, outputs, /*activated=*/false));
  return made;
}

torch::Tensor every_other_point(const torch::Tensor& x, int64_t step) {
  return x.slice(2, 0, x.size(2), step).slice(3, 0, x.size(3), step);
}

}  // namespace

BasicBlock::BasicBlock(const ModelOptions& options, const BlockShape& shape, Shortcut shortcut)
    : conv1_(convolution(shape.inputs, shape.width, 3, shape.stride)),
      conv2_(convolution(shape.width, shape.width, 3)),
      bn1_(norm_of_model(options, shape.width, /*activated=*/true)),
      bn2_(norm_of_model(options, shape.width, /*activated=*/true)),
      stride_(shape.stride),
      added_channels_(shape.width - shape.inputs) {
  register_module("conv1", conv1_);
  register_module("bn1", bn1_);
  register_module("conv2", conv2_);
  register_module("bn2", bn2_);
  if (shortcut == Shortcut::kPadded || keeps_shape(shape, shape.width)) return;
  downsample_ = register_module("downsample", projection(options, shape, shape.width));
}

torch::Tensor BasicBlock::forward(const torch::Tensor& x) {
  torch::Tensor shortcut = x;
  if (downsample_) {
    shortcut = downsample_->forward(x);
  } else if (stride_ != 1 || added_channels_ != 0) {
    shortcut = torch::constant_pad_nd(every_other_point(x, stride_), {0, 0, 0, 0, 0, added_channels_});
  }
  return bn2_->forward(conv2_(bn1_->forward(conv1_(x))), shortcut);
}

Bottleneck::Bottleneck(const ModelOptions& options, const BlockShape& shape)
    : conv1_(convolution(shape.inputs, shape.width, 1)),
      conv2_(convolution(shape.width, shape.width, 3, shape.stride)),
      conv3_(convolution(shape.width, kExpansion * shape.width, 1)),
      bn1_(norm_of_model(options, shape.width, /*activated=*/true)),
      bn2_(norm_of_model(options, shape.width, /*activated=*/true)),
      bn3_(norm_of_model(options, kExpansion * shape.width, /*activated=*/true)) {
  register_module("conv1", conv1_);
  register_module("bn1", bn1_);
  register_module("conv2", conv2_);
  register_module("bn2", bn2_);
  register_module("conv3", conv3_);
  register_module("bn3", bn3_);
  if (keeps_shape(shape, kExpansion * shape.width)) return;
  downsample_ = register_module("downsample", projection(options, shape, kExpansion * shape.width));
}

torch::Tensor Bottleneck::forward(const torch::Tensor& x) {
  const torch::Tensor shortcut = downsample_ ? downsample_->forward(x) : x;
  return bn3_->forward(conv3_(bn2_->forward(conv2_(bn1_->forward(conv1_(x))))), shortcut);
}

}  // namespace samplenorm::models
