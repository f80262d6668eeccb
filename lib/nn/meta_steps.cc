// Results without values. The steps on the CPU begin with these, and fill them.

#include <ATen/ATen.h>

#include "nn/checks.h"
#include "nn/steps.h"
#include "nn/tensor_layout.h"

namespace samplenorm {

// What a result does not depend on has no name here; steps.h has them all.
const Steps meta_steps = {
    .moments =
        [](at::TensorList x, auto, at::IntArrayRef rows, at::IntArrayRef counts, int64_t room) {
          const DimVector sizes = whole_sizes(x);
          const int64_t chunks = std::ssize(rows) - 1, groups = std::ssize(counts) / chunks;
          return std::tuple(at::empty({1, chunks, groups, 3, sizes[1]}, x[0].options().dtype(statistics_type(x[0]))),
                            empty_sample(room, layout_of(sizes, lies_channels_last(x[0])), x[0].options()));
        },
    .statistics =
        [](const at::Tensor& moments, auto...) {
          return at::empty({moments.size(1), kGroupMeans + 2 * moments.size(2), moments.size(4)}, moments.options());
        },
    .apply =
        [](at::TensorList x, auto, auto, auto, auto, bool keep_mask) {
          const DimVector sizes = whole_sizes(x);
          const bool channels_last = lies_channels_last(x[0]);
          const auto options = x[0].options();
          return std::tuple(empty_in_format(sizes, options, channels_last),
                            keep_mask ? empty_mask(layout_of(sizes, channels_last), options)
                                      : at::empty({0}, options.dtype(at::kByte)));
        },
    .backward =
        [](auto, at::TensorList x, const OptionalTensor& mask, const at::Tensor& statistics,
           const OptionalTensor& correction, auto, auto, auto, bool want_dx) {
          const bool channels_last = backward_is_channels_last(x, mask);
          std::vector<at::Tensor> dx;
          for (const at::Tensor& part : want_dx ? x : at::TensorList())
            dx.push_back(empty_in_format(part.sizes(), part.options(), channels_last));
          return std::tuple(std::move(dx),
                            correction
                                ? at::empty({0}, statistics.options())
                                : at::empty({1, statistics.size(0), 2, statistics.size(2)}, statistics.options()),
                            mask && want_dx ? empty_in_format(whole_sizes(x), x[0].options(), channels_last)
                                            : at::empty({0}, x[0].options()));
        },
    .gradients =
        [](const at::Tensor& sums, auto, const at::Tensor& statistics, at::ArrayRef<double> weights) {
          const int64_t channels = sums.size(3);
          return std::tuple(at::empty({channels}, sums.options()), at::empty({channels}, sums.options()),
                            at::empty({statistics.size(0), std::ssize(weights), 2, channels}, sums.options()));
        },
    .correct = [](auto...) {}};

}  // namespace samplenorm
