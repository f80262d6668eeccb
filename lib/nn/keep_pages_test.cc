#include "samplenorm/memory.h"

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

namespace samplenorm {
namespace {

constexpr size_t kSmall = 1000;
constexpr size_t kLarge = 8 << 20;

c10::Allocator& kept() {
  keep_pages();
  return *c10::GetCPUAllocator();
}

TEST(KeepPages, GivesAndTakesMemoryByItsAddressAlone) {
  for (const size_t bytes : {kSmall, kLarge}) {
    void* place = kept().raw_allocate(bytes);
    std::memset(place, 1, bytes);
    kept().raw_deallocate(place);
  }
}

TEST(KeepPages, GivesALargeTensorThePlaceOfTheLastOfItsSize) {
  const void* first = kept().allocate(kLarge).get();
  EXPECT_EQ(kept().allocate(kLarge).get(), first);
}

TEST(KeepPages, AttachesTheDeleterThatItNames) {
  for (const size_t bytes : {kSmall, kLarge}) EXPECT_EQ(kept().allocate(bytes).get_deleter(), kept().raw_deleter());
}

TEST(KeepPages, ServesConvolutionsForwardAndBackward) {
  kept();
  torch::nn::Conv2d conv(torch::nn::Conv2dOptions(16, 16, 3));
  const auto x = torch::randn({8, 16, 32, 32}).contiguous(torch::MemoryFormat::ChannelsLast).requires_grad_();
  conv(x).sum().backward();
  EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
}

TEST(KeepPages, TellsHowMuchMemoryIsMissing) {
  kept();
  try {
    torch::empty({int64_t{1} << 50});
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("4503599627370496 bytes"), std::string::npos) << error.what();
  }
}

TEST(KeepPages, ServesAChildThatIsForkedWhileAnotherThreadAllocates) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's own malloc cannot be used after such a fork";
#endif
  c10::Allocator& allocator = kept();
  std::atomic<bool> goes_on = true;
  std::thread other([&] {
    while (goes_on) allocator.allocate(kLarge);
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // where the lock is taken
      allocator.allocate(kLarge);
      _exit(0);
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "fork " << i;
  }
  goes_on = false;
  other.join();
}

TEST(KeepPages, CanBeUndoneAndDoneAgainWhileTensorsLive) {
  keep_pages(Pages::kReturned);
  c10::Allocator* plain = c10::GetCPUAllocator();
  torch::Tensor before = torch::ones({1 << 20});
  keep_pages();
  EXPECT_NE(c10::GetCPUAllocator(), plain);
  torch::Tensor between = torch::ones({1 << 20});
  keep_pages(Pages::kReturned);
  EXPECT_EQ(c10::GetCPUAllocator(), plain);
  before.reset();  // by the allocator that it came from
  EXPECT_EQ(between.sum().item<float>(), 1 << 20);
  between.reset();
  keep_pages();
  const void* anew = torch::empty({1 << 20}).data_ptr();
  EXPECT_EQ(torch::empty({1 << 20}).data_ptr(), anew);
}

}  // namespace
}  // namespace samplenorm
