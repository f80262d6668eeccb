// Activations on tensors: what follows a normalization that does not fuse them.

#include "nn/activation.h"

#include "nn/testing.h"

namespace samplenorm {
namespace {

TEST(Activate, HasTheFormulasDerivativeAlsoWhereExponentsOverflow) {
  for (const auto type : {torch::kFloat, torch::kDouble})
    for (const std::string& name : activations()) {
      SCOPED_TRACE(name);
      torch::Tensor z = torch::cat({torch::linspace(-30, 30, 997), torch::linspace(-1e4, 1e4, 997)}).to(type);
      z.requires_grad_();
      const torch::Tensor y = activate(z, name);
      const torch::Tensor dy = torch::randn_like(z), dz = torch::autograd::grad({y}, {z}, {dy})[0];
      EXPECT_TRUE(testing::close(dz, dy * derivative_at(z.detach(), name), 1e-4, 1e-5));
      EXPECT_TRUE(dz.isfinite().all().item<bool>());
      const torch::Tensor derivative = derivative_at(z, name);
      if (!derivative.requires_grad()) continue;  // a constant
      EXPECT_TRUE(torch::autograd::grad({derivative.sum()}, {z})[0].isfinite().all().item<bool>()) << "the second one";
    }
}

TEST(Activate, OfHalfTheDigitsIsComputedInFloat) {
  const torch::Tensor z = torch::tensor({-12.0, -3.0, 0.5, 20.0});
  for (const auto type : {torch::kHalf, torch::kBFloat16}) {
    const torch::Tensor y = activate(z.to(type), "silu");
    EXPECT_EQ(y.scalar_type(), type);
    EXPECT_TRUE(torch::equal(y, torch::silu(z).to(type))) << y;
  }
}

TEST(ActivationOf, RemembersWhatItFoundAndThrowsForAnythingElse) {
  EXPECT_EQ(&activation_of("leaky_relu(0.2)"), &activation_of("leaky_relu(0.2)"));
  EXPECT_EQ(activation_of("leaky_relu(0.2)").slope, 0.2);
  EXPECT_EQ(activation_of("leaky_relu(0.3)").slope, 0.3);
  for (const char* name : {"", "swish", "leaky_relu(", "silu(1)"}) {
    EXPECT_THROW(activation_of(name), c10::ValueError) << name;
    EXPECT_THROW(activate(torch::ones({2}), name), c10::ValueError) << name;
  }
}

}  // namespace
}  // namespace samplenorm
