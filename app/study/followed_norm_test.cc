#include "study/followed_norm.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace samplenorm::study {
namespace {

NormOptions followed_options(const std::string& spec) { return NormOptions(3).spec(spec).relu(true); }
torch::Tensor input() { return 2 * torch::randn({6, 3, 8, 8}) + 1; }

/// Trained and evaluated by itself, a norm with this alpha gives the same.
TEST(FollowedNorm, EvaluatesAsANormThatWasTrainedWithTheAlpha) {
  torch::manual_seed(4);
  SampledBatchNorm slow(followed_options("FS-1/4;decay=0.3;first=batch")),
      quick(followed_options("FS-1/4;decay=0.9;first=batch"));
  const auto followed = std::make_shared<FollowedNorm>(followed_options("FS-1/4;decay=0.5"), std::vector{0.3, 0.9});
  set_seed(*slow, 6);
  set_seed(*quick, 6);
  set_seed(*followed, 6);
  for (int step = 0; step < 5; ++step) {
    const auto x = input();
    const auto y = followed->forward(x);
    EXPECT_TRUE(torch::equal(y, slow->forward(x)));
    quick->forward(x);
  }
  slow->eval();
  quick->eval();
  followed->eval();
  const auto x = input();
  followed->use(0);
  EXPECT_TRUE(torch::allclose(followed->forward(x), slow->forward(x), 1e-4, 1e-5));
  EXPECT_FALSE(torch::allclose(followed->forward(x), quick->forward(x), 1e-4, 1e-5));
  followed->use(1);
  EXPECT_TRUE(torch::allclose(followed->forward(x), quick->forward(x), 1e-4, 1e-5));
}

TEST(FollowedNorm, GoesOnFromItsBuffers) {
  torch::manual_seed(5);
  const auto make = [] { return std::make_shared<FollowedNorm>(followed_options("BN"), std::vector{0.2}); };
  const auto whole = make(), first = make(), second = make();
  const auto a = input(), b = input(), x = input();
  whole->forward(a);
  whole->forward(b);
  first->forward(a);
  const auto from = first->named_buffers();
  auto to = second->named_buffers();
  for (const auto& item : from) to[item.key()].copy_(item.value());
  second->forward(b);
  for (const auto& norm : {whole, second}) {
    norm->eval();
    norm->use(0);
  }
  EXPECT_TRUE(torch::equal(whole->forward(x), second->forward(x)));
}

}  // namespace
}  // namespace samplenorm::study
