#include <torch/torch.h>

#include "samplenorm/virtual_batch.h"

namespace samplenorm {

DatasetStatisticsImpl::DatasetStatisticsImpl(int64_t channels, bool spectrum)
    : channels_(channels), with_spectrum_(spectrum) {
  DatasetStatisticsImpl::reset();
}

void DatasetStatisticsImpl::reset() {
  count_ = register_buffer("count", torch::zeros({}, torch::kDouble));
  mean_ = register_buffer("mean", torch::zeros({channels_}, torch::kDouble));
  m2_ = register_buffer("m2", torch::zeros({channels_}, torch::kDouble));
  images_ = register_buffer("images", torch::zeros({}, torch::kDouble));
  power_ = register_buffer("power", torch::zeros({0}, torch::kDouble));
}

void DatasetStatisticsImpl::add(const torch::Tensor& images) {
  TORCH_CHECK(images.dim() == 4 && images.size(1) == channels_ && images.is_floating_point(),
              "DatasetStatistics: expected floating-point images (N, ", channels_, ", H, W), got ",
              images.scalar_type(), " ", images.sizes());
  if (images.numel() == 0) return;
  torch::NoGradGuard no_grad;
  const torch::Tensor batch = images.to(torch::kCPU, torch::kDouble);

  // Welford's update, a batch at a time (Chan et al. 1979).
  const torch::Tensor batch_mean = batch.mean({0, 2, 3});
  const torch::Tensor batch_m2 = (batch - batch_mean.view({1, -1, 1, 1})).square().sum({0, 2, 3});
  const double batch_count = static_cast<double>(batch.numel() / channels_);
  const torch::Tensor share = batch_count / (count_ + batch_count);
  const torch::Tensor delta = batch_mean - mean_;
  m2_ += batch_m2 + delta.square() * count_ * share;
  mean_ += delta * share;
  count_ += batch_count;
  images_ += static_cast<double>(batch.size(0));

  if (!with_spectrum_) return;
  const torch::Tensor waves = torch::fft::fft2(batch).permute({2, 3, 0, 1});  // (H, W, N, C)
  const torch::Tensor power = torch::view_as_real(torch::matmul(waves.transpose(-1, -2), waves.conj()));
  if (power_.numel() == 0) power_.set_data(torch::zeros_like(power));
  TORCH_CHECK(power_.sizes() == power.sizes(), "DatasetStatistics: expected images of one size for the spectrum, got ",
              batch.size(2), " x ", batch.size(3), " after ", power_.size(0), " x ", power_.size(1));
  power_ += power;
}

torch::Tensor DatasetStatisticsImpl::mean() const { return mean_.clone(); }

torch::Tensor DatasetStatisticsImpl::std() const { return (m2_ / count_).sqrt(); }

torch::Tensor DatasetStatisticsImpl::spectrum() const {
  TORCH_CHECK(power_.numel() > 0, "DatasetStatistics: expected images before spectrum(), with `spectrum` set");
  torch::Tensor spectrum = torch::view_as_complex((power_ / images_).contiguous());
  // The mean of all points is a wave of frequency 0 and nothing else.
  const torch::Tensor wave = mean_ * static_cast<double>(spectrum.size(0) * spectrum.size(1));
  spectrum[0][0] -= torch::outer(wave, wave);
  return spectrum;
}

}  // namespace samplenorm
