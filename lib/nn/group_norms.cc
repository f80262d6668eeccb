// Normalizations of each row by itself: groups of channels (GN), or all of them (LN, which on feature maps is GN with
// one group). They keep no running statistics.

#include "nn/affine_norm.h"
#include "nn/comparison_norms.h"

namespace samplenorm {
namespace {

class GroupNorm : public AffineNorm {
 public:
  GroupNorm(const NormOptions& norm_options, int64_t groups) : AffineNorm(norm_options, ""), groups_(groups) {
    if (options.num_features() % groups_ != 0)
      throw Error(options.spec() + ": expected a number of groups that divides the " +
                  std::to_string(options.num_features()) + " channels");
  }

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual) override {
    const auto parameter = [&](const torch::Tensor& values) {
      return values.defined() ? values.to(x.dtype()) : values;
    };
    const torch::Tensor y = torch::group_norm(x, groups_, parameter(weight), parameter(bias), options.eps());
    return finish(y, residual, options.activation());
  }

 private:
  int64_t groups_;
};

std::shared_ptr<Norm> make_group_norm(const NormOptions& options, int64_t groups) {
  return std::make_shared<GroupNorm>(options, groups);
}

std::shared_ptr<Norm> make_layer_norm(const NormOptions& options, int64_t) {
  return std::make_shared<GroupNorm>(options, 1);
}

}  // namespace

const ComparisonNorm group_norm = {"GN", true, "group normalization", "each row by itself, n groups of channels",
                                   make_group_norm};
const ComparisonNorm layer_norm = {"LN", false, "layer normalization", "each row by itself, all channels",
                                   make_layer_norm};

}  // namespace samplenorm
