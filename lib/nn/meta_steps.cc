// Results without values. The steps on the CPU begin with these, and fill them.

#include <ATen/ATen.h>

#include "nn/checks.h"
#include "nn/steps.h"
#include "nn/tensor_layout.h"

namespace samplenorm {
namespace meta {
namespace {

std::tuple<at::Tensor, at::Tensor> moments(at::TensorList x, const at::Tensor& /*points*/, at::IntArrayRef rows,
                                           at::IntArrayRef counts, int64_t room) {
  const DimVector sizes = whole_sizes(x);
  const int64_t chunks = std::ssize(rows) - 1, groups = std::ssize(counts) / chunks;
  return {at::empty({chunks, groups, 2, sizes[1]}, x[0].options().dtype(statistics_type(x[0]))),
          empty_sample(room, layout_of(sizes, lies_channels_last(x[0])), x[0].options())};
}

at::Tensor statistics(const at::Tensor& moments, const at::Tensor& /*counts*/, at::ArrayRef<double> /*weights*/,
                      const OptionalTensor& /*weight*/, const OptionalTensor& /*bias*/, double /*eps*/) {
  return at::empty({moments.size(0), kGroupMeans + moments.size(1), moments.size(3)}, moments.options());
}

std::tuple<at::Tensor, at::Tensor> apply(at::TensorList x, const OptionalTensor& /*residual*/,
                                         const at::Tensor& /*statistics*/, at::IntArrayRef /*rows*/,
                                         std::string_view /*activation*/, bool keep_mask) {
  const DimVector sizes = whole_sizes(x);
  const bool channels_last = lies_channels_last(x[0]);
  const auto options = x[0].options();
  return {empty_in_format(sizes, options, channels_last),
          keep_mask ? empty_mask(layout_of(sizes, channels_last), options) : at::empty({0}, options.dtype(at::kByte))};
}

std::tuple<std::vector<at::Tensor>, at::Tensor, at::Tensor> backward(
    const at::Tensor& /*dy*/, at::TensorList x, const OptionalTensor& mask, const at::Tensor& statistics,
    const OptionalTensor& correction, at::IntArrayRef /*rows*/, std::string_view /*activation*/, bool /*lean*/,
    bool want_dx) {
  const DimVector sizes = whole_sizes(x);
  const bool channels_last = backward_is_channels_last(x[0], sizes, mask ? &*mask : nullptr);
  std::vector<at::Tensor> dx;
  if (want_dx)
    for (const at::Tensor& part : x) dx.push_back(empty_in_format(part.sizes(), part.options(), channels_last));
  return {std::move(dx),
          correction ? at::empty({0}, statistics.options())
                     : at::empty({statistics.size(0), 2, statistics.size(2)}, statistics.options()),
          mask && want_dx ? empty_in_format(sizes, x[0].options(), channels_last) : at::empty({0}, x[0].options())};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> gradients(const at::Tensor& sums, const at::Tensor& /*pooled_sums*/,
                                                         const at::Tensor& statistics, const at::Tensor& /*counts*/,
                                                         at::ArrayRef<double> weights) {
  const int64_t channels = sums.size(2);
  return {at::empty({channels}, sums.options()), at::empty({channels}, sums.options()),
          at::empty({statistics.size(0), std::ssize(weights), 2, channels}, sums.options())};
}

void correct(at::TensorList /*dx*/, const at::Tensor& /*sample*/, const at::Tensor& /*statistics*/,
             const at::Tensor& /*correction*/, const at::Tensor& /*points*/, at::IntArrayRef /*rows*/,
             at::IntArrayRef /*counts*/) {}

}  // namespace
}  // namespace meta

const Steps meta_steps = {meta::moments,  meta::statistics, meta::apply,
                          meta::backward, meta::gradients,  meta::correct};

}  // namespace samplenorm
