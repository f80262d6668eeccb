#include "nn/steps.h"

#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

namespace samplenorm {
namespace {

template <class Function>
auto registered(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<std::remove_pointer_t<Function>>();
}

// A function that looks the operator up once and calls it.
#define CALL(step)                                                                  \
  [](auto... arguments) {                                                           \
    static const auto op = registered<decltype(Steps::step)>("samplenorm::" #step); \
    return op.call(arguments...);                                                   \
  }

void implement(torch::Library& library, const Steps& steps) {
  library.impl("moments", steps.moments);
  library.impl("statistics", steps.statistics);
  library.impl("apply", steps.apply);
  library.impl("backward", steps.backward);
  library.impl("gradients", steps.gradients);
  library.impl("correct", steps.correct);
}

}  // namespace

const Steps registered_steps = {CALL(moments), CALL(statistics), CALL(apply), CALL(backward), CALL(gradients), CALL(correct)};
#undef CALL

TORCH_LIBRARY_FRAGMENT(samplenorm, library) {
  library.def("moments(Tensor[] x, Tensor points, int[] rows, int[] counts, int room) -> (Tensor moments, Tensor sample)");
  library.def(
      "statistics(Tensor moments, Tensor counts, float[] weights, Tensor? weight, Tensor? bias, float eps) -> Tensor");
  library.def(
      "apply(Tensor[] x, Tensor? residual, Tensor statistics, int[] rows, str activation, bool keep_mask) -> "
      "(Tensor y, Tensor mask)");
  library.def(
      "backward(Tensor dy, Tensor[] x, Tensor? mask, Tensor statistics, Tensor? correction, int[] rows, "
      "str activation, bool lean, bool want_dx) -> (Tensor[] dx, Tensor sums, Tensor dresidual)");
  library.def(
      "gradients(Tensor sums, Tensor pooled_sums, Tensor statistics, Tensor counts, float[] weights) -> "
      "(Tensor dweight, Tensor dbias, Tensor correction)");
  library.def(
      "correct(Tensor(a!)[] dx, Tensor sample, Tensor statistics, Tensor correction, Tensor points, int[] rows, "
      "int[] counts) -> ()");
}

TORCH_LIBRARY_IMPL(samplenorm, CPU, library) { implement(library, cpu_steps); }
TORCH_LIBRARY_IMPL(samplenorm, CompositeExplicitAutograd, library) { implement(library, aten_steps); }
TORCH_LIBRARY_IMPL(samplenorm, Meta, library) { implement(library, meta_steps); }
TORCH_LIBRARY_IMPL(samplenorm, Autograd, library) {
  for (const char* step : {"moments", "statistics", "apply", "backward", "gradients", "correct"})
    library.impl(step, torch::autograd::autogradNotImplementedFallback());
}

}  // namespace samplenorm
