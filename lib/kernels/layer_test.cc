// The plain kernels in the order that makes a layer: gradients against finite differences, types against double.

#include <cmath>
#include <utility>

#include "kernels/reference.h"
#include "kernels/testing.h"

namespace samplenorm::reference {
namespace {

constexpr double kEpsilon = 1e-5;

template <class T>
struct Layer {
  using C = Compute<T>;
  Tensor<T> x, residual;
  std::vector<double> gamma, beta;
  Sample sample;
  Activation activation = find_activation("identity");

  size_t channels() const { return gamma.size(); }
  /// Without a mask, f' is found from x alone, and there is no residual.
  bool with_residual() const { return activation.piecewise_linear; }
  bool with_mask() const { return with_residual() && activation.kind != Activation::Kind::kIdentity; }

  struct Forward {
    std::vector<std::vector<double>> means, m2s;  // of each group
    std::vector<double> mean, var, unbiased;
    std::vector<C> scale, shift;
    Tensor<T> y;
    std::vector<uint8_t> mask;
  };

  Forward forward() const {
    const std::vector<double> zeros(channels());
    Forward out{{}, {}, zeros, zeros, zeros, {}, {}, x, {}};
    out.means.assign(sample.groups.size(), zeros);
    out.m2s.assign(sample.groups.size(), zeros);
    std::vector<WeightedMoments> weighted;
    for (size_t g = 0; g < sample.groups.size(); ++g) {
      weighted.push_back({sample.groups[g].weight, {0, out.means[g], out.m2s[g]}});
      const auto numbers = numbers_of(sample.groups[g], x.sizes);
      moments(x.layout(), x.data.data(), listed(numbers), weighted.back().moments);
    }
    combine(weighted, {out.mean, out.var, out.unbiased});
    for (size_t c = 0; c < channels(); ++c) {
      const double scale = gamma[c] / std::sqrt(out.var[c] + kEpsilon);
      out.scale.push_back(static_cast<C>(scale));
      out.shift.push_back(static_cast<C>(beta[c] - scale * out.mean[c]));
    }
    out.mask.resize(static_cast<size_t>(x.sizes.n * mask_row_bytes(x.layout())));
    apply<T>(x.layout(), x.layout(),
             {x.data.data(), with_residual() ? residual.data.data() : nullptr, out.scale.data(), out.shift.data(),
              &activation, out.y.begin(), with_mask() ? out.mask.data() : nullptr});
    return out;
  }

  struct Gradients {
    Tensor<T> dx, dresidual;
    std::vector<double> dgamma, dbeta;
  };

  Gradients backward(const Tensor<T>& dy, const Forward& out) const {
    Gradients grads{x, x, std::vector<double>(channels()), std::vector<double>(channels())};
    const std::vector<C> mean(out.mean.begin(), out.mean.end());
    reference::backward<T>(x.layout(), x.layout(),
                           {.dy = dy.data.data(),
                            .x = x.data.data(),
                            .centre = mean.data(),
                            .scale = out.scale.data(),
                            .activation = &activation,
                            .shift = out.shift.data(),
                            .mask = with_mask() ? out.mask.data() : nullptr,
                            .dx = grads.dx.begin(),
                            .dresidual = grads.dresidual.begin(),
                            .sum_dy = grads.dbeta,
                            .sum_dy_x = grads.dgamma});
    for (size_t c = 0; c < channels(); ++c) grads.dgamma[c] /= std::sqrt(out.var[c] + kEpsilon);
    for (size_t g = 0; g < sample.groups.size(); ++g) {
      const Group& group = sample.groups[g];
      const double share = group.weight / static_cast<double>(group.points());
      std::vector<C> group_mean(out.means[g].begin(), out.means[g].end()), offset, slope;
      for (size_t c = 0; c < channels(); ++c) {
        const double sigma = std::sqrt(out.var[c] + kEpsilon);
        offset.push_back(static_cast<C>(share * gamma[c] / sigma * grads.dbeta[c]));
        slope.push_back(static_cast<C>(share * gamma[c] / (sigma * sigma) * grads.dgamma[c]));
      }
      std::vector<T> sampled(static_cast<size_t>(group.points() * x.sizes.c));
      const auto numbers = numbers_of(group, x.sizes);
      gather(x.layout(), x.data.data(), listed(numbers), dense_copy(x.layout(), sampled.data(), group.points()));
      correct<T>(x.layout(), listed(numbers),
                 {dense_copy<const T>(x.layout(), sampled.data(), group.points()), group_mean.data(), offset.data(),
                  slope.data(), grads.dx.begin()});
    }
    return grads;
  }
};

/// One group of each kind, and two weighted groups that overlap.
std::vector<Sample> samples_in(const Sizes& sizes) {
  std::vector<Sample> samples;
  auto groups = groups_in(sizes);
  for (const Group& group : groups) samples.push_back({{group}});
  groups[1].weight = 0.3;
  groups[2].weight = 0.7;
  samples.push_back({{groups[1], groups[2]}});
  return samples;
}

template <class T>
Layer<T> random_layer(const Sizes& sizes, Format format, const Activation& activation, std::mt19937_64& random) {
  return {filled<T>(sizes, format, normal, random),
          filled<T>(sizes, format, normal, random),
          per_channel<double>(sizes, normal, random),
          per_channel<double>(sizes, normal, random),
          {},
          activation};
}

double loss(const Layer<double>& layer, const Tensor<double>& dy) {
  const auto y = layer.forward().y;
  double sum = 0;
  for (size_t i = 0; i < dy.data.size(); ++i) sum += y.data[i] * dy.data[i];
  return sum;
}

/// Moves each of `values` a little and compares the change of the loss with its gradient.
void expect_slopes(const Layer<double>& layer, const Tensor<double>& dy, std::vector<double>& values,
                   const std::vector<double>& gradient) {
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = std::exchange(values[i], values[i] + kStep);
    const double above = loss(layer, dy);
    values[i] = value - kStep;
    const double below = loss(layer, dy);
    values[i] = value;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-7 * (1 + std::abs(gradient[i])));
  }
}

TEST(Layer, GradientsEqualFiniteDifferences) {
  std::mt19937_64 random(1);
  for (const Sizes& sizes : {Sizes{4, 3, 1, 4, 3}, Sizes{4, 2, 2, 3, 2}, Sizes{7, 3, 1, 1, 1}})
    for (const Format format : {Format::kContiguous, Format::kChannelsLast})
      for (const std::string& name : activations())
        for (const Sample& sample : samples_in(sizes)) {
          SCOPED_TRACE(name);
          auto layer = random_layer<double>(sizes, format, find_activation(name), random);
          layer.sample = sample;
          const auto dy = filled<double>(sizes, format, normal, random);
          const auto grads = layer.backward(dy, layer.forward());
          expect_slopes(layer, dy, layer.x.data, grads.dx.data);
          if (layer.with_residual()) expect_slopes(layer, dy, layer.residual.data, grads.dresidual.data);
          expect_slopes(layer, dy, layer.gamma, grads.dgamma);
          expect_slopes(layer, dy, layer.beta, grads.dbeta);
        }
}

template <class T>
class LayerTest : public ::testing::Test {
 public:
  /// Half a unit in the last place of 1.
  static constexpr double kUnit = std::is_same_v<T, float> ? 0x1p-24 : std::is_same_v<T, Float16> ? 0x1p-11 : 0x1p-8;

  static Tensor<double> widened(const Tensor<T>& tensor) {
    Tensor<double> wide{tensor.sizes, tensor.format};
    for (size_t i = 0; i < wide.data.size(); ++i) wide.data[i] = tensor.value(i);
    return wide;
  }

  static void expect_near(const Tensor<T>& actual, const Tensor<double>& expected) {
    for (size_t i = 0; i < expected.data.size(); ++i)
      ASSERT_NEAR(actual.value(i), expected.data[i], 16 * kUnit * (1 + std::abs(expected.data[i])));
  }
};

using LayerTypes = ::testing::Types<float, BFloat16, Float16>;
TYPED_TEST_SUITE(LayerTest, LayerTypes);

TYPED_TEST(LayerTest, EqualsTheDoubleOneToThePrecisionOfItsType) {
  std::mt19937_64 random(2);
  for (const Sizes& sizes : {Sizes{8, 17, 1, 9, 7}, Sizes{8, 3, 3, 5, 4}, Sizes{64, 1, 1, 1, 1}})
    for (const Format format : {Format::kContiguous, Format::kChannelsLast})
      for (const Sample& sample : samples_in(sizes)) {
        auto layer = random_layer<TypeParam>(sizes, format, find_activation("identity"), random);
        layer.sample = sample;
        const auto dy = filled<TypeParam>(sizes, format, normal, random);
        const auto out = layer.forward();
        const auto grads = layer.backward(dy, out);

        const Layer<double> wide = {this->widened(layer.x), this->widened(layer.residual), layer.gamma, layer.beta,
                                    sample};
        const auto wide_out = wide.forward();
        const auto wide_grads = wide.backward(this->widened(dy), wide_out);
        this->expect_near(out.y, wide_out.y);
        this->expect_near(grads.dx, wide_grads.dx);
        this->expect_near(grads.dresidual, wide_grads.dresidual);
        for (size_t c = 0; c < layer.channels(); ++c) {
          EXPECT_NEAR(grads.dgamma[c], wide_grads.dgamma[c], 1e-4);
          EXPECT_NEAR(grads.dbeta[c], wide_grads.dbeta[c], 1e-4);
        }
      }
}

TEST(Layer, FindsTheVarianceOfFloatsThatAreFarFromZero) {
  std::mt19937_64 random(3);
  const Sizes sizes = {32, 3, 1, 16, 16};
  const auto deviations = filled<double>(sizes, Format::kChannelsLast, normal, random);
  Layer<double> near{deviations, deviations, {1, 1, 1}, {0, 0, 0}, {{groups_in(sizes)[0]}}};
  const Tensor<float> blank(sizes, Format::kChannelsLast);
  Layer<float> far{blank, blank, near.gamma, near.beta, near.sample};
  for (size_t i = 0; i < far.x.data.size(); ++i) far.x.data[i] = static_cast<float>(1e4 + deviations.data[i]);
  const auto expected = near.forward();
  const auto found = far.forward();
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(found.mean[c] - 1e4, expected.mean[c], 1e-3);
    EXPECT_NEAR(found.var[c] / expected.var[c], 1, 1e-3);
  }
}

}  // namespace
}  // namespace samplenorm::reference
