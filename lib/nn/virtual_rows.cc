#include "nn/virtual_rows.h"

#include <torch/torch.h>

#include "core/philox.h"

namespace samplenorm {
namespace {

at::Tensor white_noise(at::IntArrayRef sizes, Stream stream) {
  at::Tensor noise = at::empty(sizes, at::kDouble);
  double* values = noise.data_ptr<double>();
  for (int64_t i = 0; i < noise.numel(); ++i) values[i] = stream.normal();
  return noise;
}

}  // namespace

at::Tensor virtual_rows(at::IntArrayRef sizes, const VirtualField& field, uint64_t seed, uint64_t step,
                        uint64_t chunk) {
  TORCH_CHECK_VALUE(sizes.size() >= 2 && sizes[1] == field.mean.size(0), "VirtualBatch: expected inputs of ",
                    field.mean.size(0), " channels, got ", sizes);
  const at::Tensor noise = white_noise(sizes, {seed, Purpose::kVirtualRows, 0, step, chunk});
  std::vector<int64_t> channel(sizes.size(), 1);
  channel[1] = -1;
  if (!field.root.defined()) return noise * field.std.view(channel) + field.mean.view(channel);
  const int64_t height = field.root.size(0), width = field.root.size(1);
  TORCH_CHECK_VALUE(sizes.size() == 4 && sizes[2] == height && sizes[3] == width,
                    "VirtualBatch: expected inputs of the spectrum's size ", height, " x ", width, ", got ", sizes);
  // fft2 of white noise has H W of power at each frequency; the spectrum counts that in.
  const double points = static_cast<double>(height * width);
  const at::Tensor waves = torch::fft::fft2(noise).permute({2, 3, 1, 0}) / std::sqrt(points);
  const at::Tensor fields = torch::fft::ifft2(torch::matmul(field.root, waves).permute({3, 2, 0, 1}));
  return (torch::real(fields) + field.mean.view(channel)).contiguous();
}

at::Tensor root_of_spectrum(const at::Tensor& spectrum) {
  TORCH_CHECK_VALUE(spectrum.dim() == 4 && spectrum.size(2) == spectrum.size(3),
                    "VirtualBatch: expected a spectrum of size [H, W, channels, channels], got ", spectrum.sizes());
  const at::Tensor matrices = spectrum.to(at::kCPU, at::kComplexDouble);
  const auto [values, vectors] = torch::linalg_eigh(matrices, "L");
  const at::Tensor roots = values.clamp_min(0).sqrt().to(at::kComplexDouble);
  return torch::matmul(vectors * roots.unsqueeze(-2), vectors.conj().transpose(-1, -2));
}

}  // namespace samplenorm
