#pragma once

// Norms for models: all of make_norm()'s, libtorch's own batch norm as a rival to measure against, and SELU, which
// stands where a norm and its ReLU would.

#include <memory>
#include <string>

#include "models/model.h"
#include "samplenorm/norm.h"

namespace samplenorm::models {

/// The name of torch::nn::BatchNorm2d, where a notation is asked for.
inline constexpr const char* kTorchBatchNorm = "torch";

/// make_norm(), and kTorchBatchNorm for inputs (N, C, H, W). Throws NotationError.
std::shared_ptr<Norm> norm_by_name(const std::string& name, int64_t channels, bool relu = false);
/// The same by `options.spec()`. With kTorchBatchNorm the activation is identity, relu or relu6; any other throws
/// Error.
std::shared_ptr<Norm> norm_by_name(const NormOptions& options);

/// The norm that a model's options ask for, with their activation after it (and after the residual) if `activated`.
/// `relu`: what the activation "relu" means in this model, relu or relu6. Where options.make_norm makes the norm, it is
/// not told of `relu`. Throws Error for an unknown activation, or a norm together with SELU.
std::shared_ptr<Norm> norm_of_model(const ModelOptions& options, int64_t channels, bool activated,
                                    const std::string& relu = "relu");

/// A norm that wants its inputs one by one where a network concatenates them.
class TakesSeveralInputs {
 public:
  virtual ~TakesSeveralInputs() = default;
  virtual torch::Tensor forward_concatenated(torch::TensorList inputs) = 0;
};

/// norm->forward() of the inputs concatenated along channels; sampled norms do it without that tensor.
torch::Tensor forward_concatenated(Norm& norm, torch::TensorList inputs);

}  // namespace samplenorm::models
