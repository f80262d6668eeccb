// The operators on the CPU: five steps, each a kernel, sequenced here. moments, combine, apply; backward, correct. With
// Sync the processes meet behind moments and behind backward's sums.

#include <ATen/ATen.h>

#include <cmath>
#include <type_traits>

#include "comm/pool.h"
#include "kernels/kernels.h"
#include "kernels/types.h"
#include "nn/implementation.h"
#include "nn/inputs.h"
#include "nn/scratch.h"
#include "nn/tensor_layout.h"

namespace samplenorm::cpu {
namespace {

// Purposes of scratch memory.
struct ForSums;
struct ForCoefficients;
struct ForParameters;
struct ForOffsets;

/// Calls work(std::type_identity<T>) with the kernels' type for torch's.
template <class Work>
void with_type(at::ScalarType type, Work work) {
  switch (type) {
#define CASE(T, name)        \
  case at::ScalarType::name: \
    return work(std::type_identity<T>{});
    SAMPLENORM_FOR_EACH_TYPE(CASE)
#undef CASE
    default:
      TORCH_CHECK(false, "samplenorm: no kernels for activations of ", type);
  }
}

template <class T>
const T* constant(const at::Tensor& tensor, int64_t offset = 0) {
  return static_cast<const T*>(tensor.const_data_ptr()) + offset;
}
template <class T>
T* writable(const at::Tensor& tensor, int64_t offset = 0) {
  return static_cast<T*>(tensor.data_ptr()) + offset;
}

std::span<double> channels_of(std::span<double> all, const Inputs::Part& part) {
  return all.subspan(static_cast<size_t>(part.first_channel), static_cast<size_t>(part.layout.channels));
}

int64_t workspace_for(const Inputs& inputs) {
  int64_t most = 0;
  if (inputs.whole().rows == 0) return most;
  for (const Inputs::Part& part : inputs.parts()) most = std::max(most, kernels::workspace_size(part.layout));
  return most;
}

/// Points of the largest group that is copied.
int64_t most_points(const Chunk& chunk) {
  int64_t most = 0;
  if (!chunk.everything)
    for (const Group& group : chunk.sample.groups) most = std::max(most, group.points());
  return most;
}

/// Where the copy of a group's points of one part begins.
int64_t place_of_copy(const Chunk& chunk, size_t g, const Inputs& inputs, const Inputs::Part& part) {
  return chunk.first_in_copy[g] * inputs.whole().channels + chunk.sample.groups[g].points() * part.first_channel;
}

/// Weight and bias in the type of statistics; null where there is none.
template <class C>
class Parameters {
 public:
  Parameters(const OptionalTensor& weight, const OptionalTensor& bias, at::ScalarType type)
      : weight_(converted(weight, type)), bias_(converted(bias, type)) {}
  C weight(int64_t c) const { return weight_.defined() ? constant<C>(weight_)[c] : C{1}; }
  C bias(int64_t c) const { return bias_.defined() ? constant<C>(bias_)[c] : C{0}; }

 private:
  static at::Tensor converted(const OptionalTensor& tensor, at::ScalarType type) {
    return tensor && tensor->defined() ? tensor->to(type).contiguous() : at::Tensor();
  }
  at::Tensor weight_, bias_;
};

/// The coefficients of apply, from saved values alone: backward finds the same to the last bit.
template <class C>
void find_affine(const Parameters<C>& parameters, const C* mean, const C* rstd, std::span<C> scale,
                 std::span<C> shift) {
  for (size_t c = 0; c < scale.size(); ++c) {
    const auto channel = static_cast<int64_t>(c);
    scale[c] = rstd[c] * parameters.weight(channel);
    shift[c] = parameters.bias(channel) - mean[c] * scale[c];
  }
}

/// Those that Sync pools over, and for their errors the notation; none without Sync.
struct Processes {
  std::shared_ptr<Communicator> communicator;
  std::string_view notation;

  explicit operator bool() const { return communicator != nullptr; }
};

void pool_samples(const Processes& processes, const Plan& plan, at::IntArrayRef sizes,
                  std::span<WeightedMoments> groups) {
  pool_moments(*processes.communicator, plan.contributors, groups);
  c10::SmallVector<double, 2> points;
  for (const auto& [weight, moments] : groups) points.push_back(moments.count);
  check_values_per_channel(points, sizes, processes.notation);
}

/// Fills mean, rstd, unbiased_var, group_mean and sampled_x of chunk k.
template <class T>
void find_statistics(const Inputs& inputs, const ForwardArguments& arguments, const Plan& plan, int64_t k,
                     const Processes& processes, const Normalized& out) {
  const Chunk& chunk = plan.chunks[static_cast<size_t>(k)];
  using C = Compute<T>;
  const int64_t channels = inputs.whole().channels;
  const auto groups = static_cast<int64_t>(chunk.sample.groups.size());
  const int64_t workspace_size = workspace_for(inputs);
  Scratch<double, ForSums> scratch(workspace_size + (2 * groups + 3) * channels);
  Scratch<int64_t, ForOffsets> offsets(most_points(chunk));
  const kernels::Workspace workspace{scratch.take(workspace_size), offsets.all()};
  const Statistics statistics{scratch.take(channels), scratch.take(channels), scratch.take(channels)};

  c10::SmallVector<WeightedMoments, 2> weighted;
  for (size_t g = 0; g < chunk.sample.groups.size(); ++g) {
    Moments all{0, scratch.take(channels), scratch.take(channels)};
    for (const Inputs::Part& part : inputs.parts()) {
      if (chunk.runs[g].empty()) break;  // other processes have this group's points
      Moments moments{0, channels_of(all.mean, part), channels_of(all.m2, part)};
      T* copy = chunk.everything ? nullptr : writable<T>(out.sampled_x, place_of_copy(chunk, g, inputs, part));
      kernels::moments(part.layout.with_rows(chunk.shape.all_rows()),
                       constant<T>(part.tensor, chunk.first_row * part.layout.row_stride),
                       std::span<const Run>(chunk.runs[g]), moments, copy, workspace);
      all.count = moments.count;
    }
    weighted.push_back({chunk.sample.groups[g].weight, all});
  }
  if (processes) pool_samples(processes, plan, arguments.sizes, weighted);
  combine(weighted, statistics);
  C* group_mean = writable<C>(out.group_mean, k * groups * channels);
  for (const WeightedMoments& group : weighted)
    group_mean =
        std::ranges::transform(group.moments.mean, group_mean, [](double mean) { return static_cast<C>(mean); }).out;

  C* mean = writable<C>(out.mean, k * channels);
  C* rstd = writable<C>(out.rstd, k * channels);
  C* unbiased_var = writable<C>(out.unbiased_var, k * channels);
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    mean[c] = static_cast<C>(statistics.mean[c]);
    rstd[c] = static_cast<C>(1 / std::sqrt(statistics.var[c] + arguments.eps));
    unbiased_var[c] = static_cast<C>(statistics.unbiased_var[c]);
  }
}

template <class T>
void normalize(const Inputs& inputs, const ForwardArguments& arguments, const Plan& plan, const Processes& processes,
               const Normalized& out) {
  using C = Compute<T>;
  const Layout& whole = inputs.whole();
  const bool has_residual = arguments.residual && arguments.residual->defined();
  const at::Tensor residual = has_residual ? inputs.dense_like_whole(*arguments.residual) : at::Tensor();
  const Parameters<C> parameters(arguments.weight, arguments.bias, out.mean.scalar_type());
  for (int64_t k = 0; k < plan.sizes.chunks; ++k) {
    const Chunk& chunk = plan.chunks[static_cast<size_t>(k)];
    find_statistics<T>(inputs, arguments, plan, k, processes, out);
    if (!chunk.has_rows()) continue;
    Scratch<C, ForCoefficients> scratch(2 * whole.channels);
    const std::span<C> scale = scratch.take(whole.channels), shift = scratch.take(whole.channels);
    find_affine(parameters, constant<C>(out.mean, k * whole.channels), constant<C>(out.rstd, k * whole.channels), scale,
                shift);
    for (const Inputs::Part& part : inputs.parts()) {
      const int64_t rows = chunk.shape.all_rows(), c = part.first_channel;
      const int64_t in_whole = chunk.first_row * whole.row_stride + c * whole.channel_stride;
      kernels::apply(
          part.layout.with_rows(rows), inputs.within_whole(part).with_rows(rows),
          Apply<T>{.x = constant<T>(part.tensor, chunk.first_row * part.layout.row_stride),
                   .residual = has_residual ? constant<T>(residual, in_whole) : nullptr,
                   .scale = scale.data() + c,
                   .shift = shift.data() + c,
                   .relu = arguments.relu,
                   .y = writable<T>(out.y, in_whole),
                   .mask = arguments.needs_mask() ? writable<uint8_t>(out.mask, chunk.first_row * mask_row_bytes(whole))
                                                  : nullptr});
    }
  }
}

/// Backward of the rows of one chunk, all inputs.
template <class T>
class ChunkBackward {
 public:
  using C = Compute<T>;

  ChunkBackward(const Inputs& inputs, const BackwardArguments& arguments, const at::Tensor& dy, bool relu,
                Communicator* processes, const Gradients& out)
      : inputs_(inputs),
        arguments_(arguments),
        processes_(processes),
        dy_(dy),
        relu_(relu),
        out_(out),
        parameters_(arguments.weight, arguments.bias, arguments.mean.scalar_type()) {}

  /// Adds to dweight and dbias.
  void run(const Chunk& chunk, int64_t k, std::span<double> dweight, std::span<double> dbias) {
    const int64_t channels = inputs_.whole().channels;
    const int64_t workspace_size = workspace_for(inputs_);
    Scratch<double, ForSums> doubles(workspace_size + 2 * channels);
    Scratch<int64_t, ForOffsets> offsets(most_points(chunk));
    workspace_ = {doubles.take(workspace_size), offsets.all()};
    sum_dy_ = doubles.take(channels);
    sum_dy_xhat_ = doubles.take(channels);
    Scratch<C, ForCoefficients> coefficients(5 * channels);
    for (std::span<C>* values : {&scale_, &shift_, &centre_, &offset_, &slope_}) *values = coefficients.take(channels);
    mean_ = constant<C>(arguments_.mean, k * channels);
    rstd_ = constant<C>(arguments_.rstd, k * channels);
    find_coefficients();

    c10::SmallVector<double, 2> points;
    for (const Group& group : chunk.sample.groups) points.push_back(static_cast<double>(group.points()));
    pass(chunk, chunk.everything ? Pass::kSums : Pass::kSumsAndDx);
    finish_sums();
    for (size_t c = 0; c < dweight.size(); ++c) {
      dweight[c] += sum_dy_xhat_[c];
      dbias[c] += sum_dy_[c];
    }
    if (processes_) pool_gradients(*processes_, sum_dy_, sum_dy_xhat_, points);
    if (chunk.everything) {
      find_correction(1 / points.front());
      pass(chunk, Pass::kCorrectedDx);
    } else {
      for (size_t g = 0; g < points.size(); ++g) correct_group(chunk, k, g, points[g]);
    }
  }

 private:
  enum class Pass { kSumsAndDx, kSums, kCorrectedDx };

  void find_coefficients() {
    find_affine(parameters_, mean_, rstd_, scale_, shift_);
    if (!arguments_.lean) {
      std::copy_n(mean_, centre_.size(), centre_.begin());
      return;
    }
    // x is y: xhat = (y - beta) / gamma.
    for (size_t c = 0; c < centre_.size(); ++c) centre_[c] = parameters_.bias(static_cast<int64_t>(c));
  }

  void pass(const Chunk& chunk, Pass kind) {
    if (!chunk.has_rows()) {
      std::ranges::fill(sum_dy_, 0);
      std::ranges::fill(sum_dy_xhat_, 0);
      return;
    }
    const Layout& whole = inputs_.whole();
    const bool has_mask = arguments_.mask && arguments_.mask->defined();
    const int64_t rows = chunk.shape.all_rows();
    for (size_t i = 0; i < inputs_.parts().size(); ++i) {
      const Inputs::Part& part = inputs_.parts()[i];
      const int64_t c = part.first_channel;
      const int64_t in_part = chunk.first_row * part.layout.row_stride;
      const int64_t in_whole = chunk.first_row * whole.row_stride + c * whole.channel_stride;
      Backward<T> args{.dy = constant<T>(dy_, in_whole),
                       .x = constant<T>(part.tensor, in_part),
                       .centre = centre_.data() + c,
                       .scale = scale_.data() + c,
                       .relu = relu_,
                       .relu_shift = arguments_.lean ? nullptr : shift_.data() + c,
                       .sum_dy = {},
                       .sum_dy_x = {}};
      if (has_mask) args.mask = constant<uint8_t>(*arguments_.mask, chunk.first_row * mask_row_bytes(whole));
      if (kind != Pass::kSums) {
        args.dx = writable<T>(out_.x[i], in_part);
        if (has_mask) args.dresidual = writable<T>(out_.residual, in_whole);
      }
      if (kind == Pass::kCorrectedDx) {
        args.offset = offset_.data() + c;
        args.slope = slope_.data() + c;
      } else {
        args.sum_dy = channels_of(sum_dy_, part);
        args.sum_dy_x = channels_of(sum_dy_xhat_, part);
      }
      kernels::backward(part.layout.with_rows(rows), inputs_.within_whole(part).with_rows(rows), args, workspace_);
    }
  }

  /// sum dy (x - centre) becomes sum dy xhat.
  void finish_sums() {
    for (size_t c = 0; c < sum_dy_xhat_.size(); ++c) {
      if (arguments_.lean) {
        sum_dy_xhat_[c] /= static_cast<double>(parameters_.weight(static_cast<int64_t>(c)));
      } else {
        sum_dy_xhat_[c] *= static_cast<double>(rstd_[c]);
      }
    }
  }

  /// `share` is weight / points of the group.
  void find_correction(double share) {
    for (size_t c = 0; c < offset_.size(); ++c) {
      const double scale = share * static_cast<double>(scale_[c]);
      offset_[c] = static_cast<C>(scale * sum_dy_[c]);
      slope_[c] = static_cast<C>(scale * static_cast<double>(rstd_[c]) * sum_dy_xhat_[c]);
    }
  }

  /// `points` are those of all processes.
  void correct_group(const Chunk& chunk, int64_t k, size_t g, double points) {
    if (chunk.runs[g].empty()) return;
    const int64_t channels = inputs_.whole().channels;
    const auto groups = static_cast<int64_t>(chunk.sample.groups.size());
    const C* group_mean = constant<C>(arguments_.group_mean, (k * groups + static_cast<int64_t>(g)) * channels);
    find_correction(chunk.sample.groups[g].weight / points);
    for (size_t i = 0; i < inputs_.parts().size(); ++i) {
      const Inputs::Part& part = inputs_.parts()[i];
      const int64_t c = part.first_channel;
      kernels::correct(
          part.layout.with_rows(chunk.shape.all_rows()), std::span<const Run>(chunk.runs[g]),
          Correct<T>{.sampled_x = constant<T>(arguments_.sampled_x, place_of_copy(chunk, g, inputs_, part)),
                     .group_mean = group_mean + c,
                     .offset = offset_.data() + c,
                     .slope = slope_.data() + c,
                     .dx = writable<T>(out_.x[i], chunk.first_row * part.layout.row_stride)},
          workspace_);
    }
  }

  const Inputs& inputs_;
  const BackwardArguments& arguments_;
  Communicator* const processes_;
  const at::Tensor& dy_;
  const bool relu_;
  const Gradients& out_;
  const Parameters<C> parameters_;
  const C* mean_ = nullptr;
  const C* rstd_ = nullptr;
  std::span<C> scale_, shift_, centre_, offset_, slope_;
  kernels::Workspace workspace_;
  std::span<double> sum_dy_, sum_dy_xhat_;
};

template <class T>
void differentiate(const Inputs& inputs, const BackwardArguments& arguments, const Plan& plan, bool relu,
                   Communicator* processes, const Gradients& out) {
  using C = Compute<T>;
  const int64_t channels = inputs.whole().channels;
  Scratch<double, ForParameters> scratch(2 * channels);
  const std::span<double> dweight = scratch.take(channels), dbias = scratch.take(channels);
  std::ranges::fill(dweight, 0);
  std::ranges::fill(dbias, 0);
  const at::Tensor dy = inputs.dense_like_whole(arguments.dy);
  ChunkBackward<T> backward(inputs, arguments, dy, relu, processes, out);
  for (int64_t k = 0; k < plan.sizes.chunks; ++k) backward.run(plan.chunks[static_cast<size_t>(k)], k, dweight, dbias);
  std::ranges::transform(dweight, writable<C>(out.weight), [](double sum) { return static_cast<C>(sum); });
  std::ranges::transform(dbias, writable<C>(out.bias), [](double sum) { return static_cast<C>(sum); });
}

}  // namespace

SAMPLENORM_FORWARD(forward) {
  (void)lean;
  const std::vector<int64_t> sizes = whole_sizes(x);
  const KeyNumbers numbers = key_numbers(key, rank, ranks);
  const auto plan = make_plan(sizes, spec, numbers, !group.empty());
  const ForwardArguments arguments{x, sizes, weight, bias, residual, eps, relu};
  check_forward(arguments);
  const Processes processes{communicator_of(group, numbers), spec};
  const Normalized out = allocate_outputs(arguments, *plan);
  if (out.y.numel() > 0 || processes)
    with_type(out.y.scalar_type(), [&]<class T>(std::type_identity<T>) {
      normalize<T>(Inputs(x, sizes), arguments, *plan, processes, out);
    });
  return out.tuple();
}

SAMPLENORM_BACKWARD(backward) {
  const std::vector<int64_t> sizes = whole_sizes(x);
  const KeyNumbers numbers = key_numbers(key, rank, ranks);
  const auto plan = make_plan(sizes, spec, numbers, !group.empty());
  const BackwardArguments arguments{dy, x, sizes, weight, bias, mean, rstd, group_mean, sampled_x, mask, lean};
  check_backward(arguments, plan->sizes);
  const auto processes = communicator_of(group, numbers);
  const Gradients out = allocate_gradients(arguments);
  if (dy.numel() > 0 || processes)
    with_type(dy.scalar_type(), [&]<class T>(std::type_identity<T>) {
      differentiate<T>(Inputs(x, sizes), arguments, *plan, relu, processes.get(), out);
    });
  return out.tuple();
}

}  // namespace samplenorm::cpu
