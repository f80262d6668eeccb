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

/// The norm that a model's options ask for, with their activation behind it (and behind the residual) if `activated`.
/// Throws Error for an unknown activation, or a norm together with SELU.
std::shared_ptr<Norm> norm_of_model(const ModelOptions& options, int64_t channels, bool activated);

/// A norm that wants its inputs one by one where a network concatenates them.
class TakesSeveralInputs {
 public:
  virtual ~TakesSeveralInputs() = default;
  virtual torch::Tensor forward_concatenated(torch::TensorList inputs) = 0;
};

/// norm->forward() of the inputs concatenated along channels; sampled norms do it without that tensor.
torch::Tensor forward_concatenated(Norm& norm, torch::TensorList inputs);

}  // namespace samplenorm::models
