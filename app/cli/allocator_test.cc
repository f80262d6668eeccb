#include "cli/allocator.h"

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstring>

namespace samplenorm::cli {
namespace {

constexpr size_t kSmall = 1000;
constexpr size_t kLarge = 8 << 20;

c10::Allocator& kept() {
  static const bool once = (keep_pages(), true);
  (void)once;
  return *c10::GetCPUAllocator();
}

TEST(Allocator, GivesAndTakesMemoryByItsAddressAlone) {
  for (const size_t bytes : {kSmall, kLarge}) {
    void* place = kept().raw_allocate(bytes);
    std::memset(place, 1, bytes);
    kept().raw_deallocate(place);
  }
}

TEST(Allocator, GivesALargeTensorThePlaceOfTheLastOfItsSize) {
  const void* first = kept().allocate(kLarge).get();
  EXPECT_EQ(kept().allocate(kLarge).get(), first);
}

TEST(Allocator, AttachesTheDeleterThatItNames) {
  for (const size_t bytes : {kSmall, kLarge}) EXPECT_EQ(kept().allocate(bytes).get_deleter(), kept().raw_deleter());
}

TEST(Allocator, ServesConvolutionsForwardAndBackward) {
  kept();
  torch::nn::Conv2d conv(torch::nn::Conv2dOptions(16, 16, 3));
  const auto x = torch::randn({8, 16, 32, 32}).contiguous(torch::MemoryFormat::ChannelsLast).requires_grad_();
  conv(x).sum().backward();
  EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
}

}  // namespace
}  // namespace samplenorm::cli
