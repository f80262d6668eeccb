#include "nn/steps.h"

#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#define FOR_EACH_STEP(DO) DO(moments) DO(statistics) DO(apply) DO(backward) DO(gradients) DO(correct)

namespace samplenorm {

// Functions that look their operator up once and call it.
#define CALL(step)                                                                                         \
  [](auto... arguments) {                                                                                  \
    static const auto op = registered<std::remove_pointer_t<decltype(Steps::step)>>("samplenorm::" #step); \
    return op.call(arguments...);                                                                          \
  },
const Steps registered_steps = {FOR_EACH_STEP(CALL)};
#undef CALL

TORCH_LIBRARY_FRAGMENT(samplenorm, library) {
  library.def(
      "moments(Tensor[] x, Tensor points, int[] rows, int[] counts, int room) -> (Tensor moments, Tensor sample)");
  library.def(
      "statistics(Tensor moments, float[] weights, Tensor? weight, Tensor? bias, float eps, Tensor(a!)? running_mean, "
      "Tensor(b!)? running_var, Tensor(c!)? num_batches_tracked, float? momentum, bool first_is_batch) -> Tensor");
  library.def(
      "apply(Tensor[] x, Tensor? residual, Tensor statistics, int[] rows, str activation, bool keep_mask) -> "
      "(Tensor y, Tensor mask)");
  library.def(
      "backward(Tensor dy, Tensor[] x, Tensor? mask, Tensor statistics, Tensor? correction, int[] rows, "
      "str activation, bool lean, bool want_dx) -> (Tensor[] dx, Tensor sums, Tensor dresidual)");
  library.def(
      "gradients(Tensor sums, Tensor pooled_sums, Tensor statistics, float[] weights) -> "
      "(Tensor dweight, Tensor dbias, Tensor correction)");
  library.def(
      "correct(Tensor(a!)[] dx, Tensor[] x, Tensor sample, Tensor statistics, Tensor correction, Tensor points, "
      "int[] rows, int[] counts) -> ()");
}

#define IMPLEMENT(step) library.impl(#step, steps.step);
static void implement(torch::Library& library,
                      const Steps& steps){FOR_EACH_STEP(IMPLEMENT)} TORCH_LIBRARY_IMPL(samplenorm, CPU, library) {
  implement(library, cpu_steps);
}
TORCH_LIBRARY_IMPL(samplenorm, CompositeExplicitAutograd, library) { implement(library, aten_steps); }
TORCH_LIBRARY_IMPL(samplenorm, Meta, library) { implement(library, meta_steps); }

#define REFUSE(step) library.impl(#step, torch::autograd::autogradNotImplementedFallback());
TORCH_LIBRARY_IMPL(samplenorm, Autograd, library) { FOR_EACH_STEP(REFUSE) }

}  // namespace samplenorm
