#include "nn/device_pool.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include "nn/steps.h"

namespace samplenorm {
namespace {

/// Calls a functional collective and lets the stream, not the host, wait for it. Boxed: versions of torch differ in the
/// type of the group.
template <class... Arguments>
at::Tensor collective(const char* name, const Arguments&... arguments) {
  const auto call = [](const char* operator_name, auto... boxed) {
    torch::jit::Stack stack{boxed...};
    c10::Dispatcher::singleton().findSchemaOrThrow(operator_name, "").callBoxed(stack);
    return stack.front();
  };
  return call("_c10d_functional::wait_tensor", call(name, c10::IValue(arguments)...)).toTensor();
}

}  // namespace

at::Tensor gathered_moments(const at::Tensor& moments, std::string_view group, int64_t ranks) {
  return collective("_c10d_functional::all_gather_into_tensor", one_block(moments).contiguous(), ranks,
                    std::string(group));
}

at::Tensor reduced_sums(const at::Tensor& sums, std::string_view group) {
  return collective("_c10d_functional::all_reduce", sums.sum(0, /*keepdim=*/true), "sum", std::string(group));
}

TORCH_LIBRARY_FRAGMENT(samplenorm, library) {
  library.def("gathered_moments(Tensor moments, str group, int ranks) -> Tensor");
  library.def("reduced_sums(Tensor sums, str group) -> Tensor");
}

TORCH_LIBRARY_IMPL(samplenorm, CompositeExplicitAutograd, library) {
  library.impl("gathered_moments", gathered_moments);
  library.impl("reduced_sums", reduced_sums);
}

}  // namespace samplenorm
