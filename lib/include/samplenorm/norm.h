#pragma once

// The normalizations as libtorch modules. SampledBatchNorm1d/2d/3d stand in for torch::nn::BatchNorm1d/2d/3d: the same
// options, defaults and state-dict keys, plus a notation (notation.h) and an activation and a residual that cost
// nothing extra. make_norm() gives any normalization by its name, the comparison ones included.

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/common.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "samplenorm/notation.h"

namespace samplenorm {

/// Options of every normalization; names and defaults are those of torch::nn::BatchNormOptions.
struct NormOptions {
  NormOptions(int64_t num_features) : num_features_(num_features) {}  // NOLINT: implicit, as libtorch's options are

  /// Short for activation("relu") or activation("identity").
  NormOptions& relu(bool follows) { return activation(follows ? "relu" : "identity"); }

  /// Channels: C of an input (N, C), (N, C, L), (N, C, H, W) or (N, C, D, H, W).
  TORCH_ARG(int64_t, num_features);
  /// Which points the statistics come from, e.g. "FS-1/64".
  TORCH_ARG(std::string, spec) = "LS-1/64";
  /// Added to the variance.
  TORCH_ARG(double, eps) = 1e-5;
  /// Weight of the newest statistics in the running ones; unset: their plain average. `decay` in the notation goes
  /// before it.
  TORCH_ARG(std::optional<double>, momentum) = 0.1;
  /// Whether there are a `weight` and a `bias`.
  TORCH_ARG(bool, affine) = true;
  /// Whether there are running statistics. Without them evaluation takes the statistics of its whole batch, as
  /// BatchNorm does.
  TORCH_ARG(bool, track_running_stats) = true;
  /// What follows, after the residual if there is one: identity, relu, relu6, leaky_relu(slope), elu(alpha), silu,
  /// hardswish, gelu or gelu(tanh). In training it is computed in the same pass; but silu, hardswish, elu and gelu
  /// after a residual are a pass of their own.
  TORCH_ARG(std::string, activation) = "identity";
  /// Whether y, which the next layer keeps anyway, is kept for backward instead of x: half the memory. Not possible
  /// with a residual or with statistics of all points; and where a channel's |bias| is more than ten times its
  /// |weight|, x is kept, since y has lost its digits.
  TORCH_ARG(bool, lean) = false;
};
using SampledBatchNormOptions = NormOptions;

/// What every normalization can do.
class Norm : public torch::nn::Module {
 public:
  explicit Norm(NormOptions options_) : options(std::move(options_)) {}

  /// The normalized x, plus the residual if there is one, then the activation.
  virtual torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual = {}) = 0;

  /// Rows that it expects before the real ones in training, put there by a VirtualBatch at the network's input.
  virtual int64_t virtual_rows() const { return 0; }

  /// Puts parameters and running statistics back to their first values.
  virtual void reset() {}

  void pretty_print(std::ostream& stream) const override;

  NormOptions options;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(torch::Tensor())})
  template <typename ModuleType, typename... ArgumentTypes>
  friend struct torch::nn::AnyModuleHolder;
};

/// A process's place among those that train together.
struct Place {
  int rank = 0;
  int ranks = 1;
  /// Sync: a communicator (communicator.h) over which the samples of all ranks are pooled. Empty, Local: each rank has
  /// statistics of its own, and draws of its own, as if it were a statistic batch of one large process.
  std::string group = {};
};

/// What all things share that draw at random: the key of their draws. Set for a whole model by the functions below.
class Draws {
 public:
  virtual ~Draws() = default;
  Key key;
  Place place;
};

/// Gives everything in `model` that draws at random the seed and its number within the model, in the order of
/// registration. Without it the seed is 0 and layers are numbered as they are constructed in this process.
void set_seed(torch::nn::Module& model, uint64_t seed);
/// Begins an epoch: samples are drawn anew (but for redraw=step and redraw=never).
void set_epoch(torch::nn::Module& model, uint64_t epoch);
/// Says which training step comes next. Every training forward counts up by itself: needed only to resume a run.
void set_step(torch::nn::Module& model, uint64_t step);
/// Says which of several processes this one is. All of them have the same seed, epoch and step.
void set_place(torch::nn::Module& model, const Place& place);

struct FewPoints;

/// Batch normalization with the statistics of a sample, for inputs of 2 to 5 dimensions.
class SampledBatchNormImpl : public Norm, public Draws {
 public:
  explicit SampledBatchNormImpl(const NormOptions& options);

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual = {}) override;
  /// forward() of the inputs concatenated along channels, without making that tensor: what DenseNet's layers need.
  torch::Tensor forward_concatenated(torch::TensorList inputs);
  int64_t virtual_rows() const override { return spec_.virtual_rows(); }
  void reset() override;
  void reset_running_stats();
  std::shared_ptr<torch::nn::Module> clone(const std::optional<torch::Device>& device = std::nullopt) const override;

  /// The samples that the next training forward takes of an input of these sizes: one for each statistic batch, with
  /// rows counted from the statistic batch's first.
  std::vector<Sample> sample(torch::IntArrayRef sizes) const;
  const Spec& spec() const { return spec_; }

  torch::Tensor weight;
  torch::Tensor bias;
  torch::Tensor running_mean;
  torch::Tensor running_var;
  torch::Tensor num_batches_tracked;
  /// Warns once where samples have few points; set_seed() makes it one warning for the whole model. Null: it is done.
  std::shared_ptr<FewPoints> few_points;

 protected:
  virtual void check_input_dim(const torch::Tensor& x) const;
  virtual std::shared_ptr<SampledBatchNormImpl> fresh() const;

 private:
  torch::Tensor train_on(torch::TensorList x, const torch::Tensor& residual);
  torch::Tensor evaluate(const torch::Tensor& x, const torch::Tensor& residual) const;
  void clone_(torch::nn::Module& other, const std::optional<torch::Device>& device) override;

  Spec spec_;
};
TORCH_MODULE(SampledBatchNorm);

#define SAMPLENORM_DECLARE(D)                                      \
  class SampledBatchNorm##D##dImpl : public SampledBatchNormImpl { \
   public:                                                         \
    using SampledBatchNormImpl::SampledBatchNormImpl;              \
                                                                   \
   protected:                                                      \
    void check_input_dim(const torch::Tensor& x) const override;   \
    std::shared_ptr<SampledBatchNormImpl> fresh() const override;  \
  };                                                               \
  TORCH_MODULE(SampledBatchNorm##D##d)
/// Inputs (N, C) and (N, C, L).
SAMPLENORM_DECLARE(1);
/// Inputs (N, C, H, W).
SAMPLENORM_DECLARE(2);
/// Inputs (N, C, D, H, W).
SAMPLENORM_DECLARE(3);
#undef SAMPLENORM_DECLARE

/// Mean and variance of all batches together from those of each, (batches, C), all of one size, in float64: what
/// running statistics would best be.
std::tuple<torch::Tensor, torch::Tensor> statistics_of_batches(const torch::Tensor& means,
                                                               const torch::Tensor& variances);

/// The normalization that `options.spec()` names, for inputs of any number of dimensions: a sampling method ("BN",
/// "FS-1/64",
/// ...) or one to compare with: "L1BN", "RBN", "GN-32", "LN", "VBN-8", "none". Throws NotationError.
std::shared_ptr<Norm> make_norm(const NormOptions& options);
std::shared_ptr<Norm> make_norm(const std::string& notation, int64_t channels, bool relu = false);

/// The names that make_norm() knows beside the sampling methods.
std::vector<MethodInfo> comparison_norms();

}  // namespace samplenorm
