#include "nn/device_pool.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include "nn/steps.h"

namespace samplenorm {
namespace {

at::Tensor finished(const at::Tensor& tensor) {
  static const auto wait = registered<at::Tensor(const at::Tensor&)>("_c10d_functional::wait_tensor");
  return wait.call(tensor);  // of the stream, not of the host
}

}  // namespace

at::Tensor gathered_moments(const at::Tensor& moments, std::string_view group, int64_t ranks) {
  static const auto gather =
      registered<at::Tensor(const at::Tensor&, c10::SymInt, std::string)>("_c10d_functional::all_gather_into_tensor");
  return finished(gather.call(one_block(moments).contiguous(), ranks, std::string(group)));
}

at::Tensor reduced_sums(const at::Tensor& sums, std::string_view group) {
  static const auto reduce =
      registered<at::Tensor(const at::Tensor&, std::string, std::string)>("_c10d_functional::all_reduce");
  return finished(reduce.call(sums.sum(0, /*keepdim=*/true), "sum", std::string(group)));
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
