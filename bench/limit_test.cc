#include "bench/limit.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace samplenorm::bench {
namespace {

constexpr float kUntouched = -77;

/// Values at a multiple of 64 bytes, with more behind them that must stay as they are.
class Array {
 public:
  Array(int64_t count, float first, float step) : values_(static_cast<size_t>(count) + 2 * kLine, kUntouched) {
    while (reinterpret_cast<uintptr_t>(&values_[begin_]) % 64 != 0) ++begin_;
    for (int64_t i = 0; i < count; ++i) data()[i] = first + step * static_cast<float>(i);
    count_ = count;
  }
  float* data() { return &values_[begin_]; }
  bool rest_is_untouched() { return data()[count_] == kUntouched; }

 private:
  static constexpr size_t kLine = 16;
  std::vector<float> values_;
  size_t begin_ = 0;
  int64_t count_ = 0;
};

class Limit : public testing::TestWithParam<std::tuple<int64_t, Stores>> {
 protected:
  int64_t count = std::get<0>(GetParam());
  Stores stores = std::get<1>(GetParam());
  Array a{count, 1, 0.5f}, b{count, 3, -2}, out{count, kUntouched, 0}, out2{count, kUntouched, 0};
};

TEST_P(Limit, CopyCopies) {
  copy(a.data(), out.data(), count, stores);
  for (int64_t i = 0; i < count; ++i) ASSERT_EQ(out.data()[i], a.data()[i]) << i;
  EXPECT_TRUE(out.rest_is_untouched());
}

TEST_P(Limit, TriadAdds) {
  triad(a.data(), b.data(), out.data(), count, stores);
  for (int64_t i = 0; i < count; ++i) ASSERT_EQ(out.data()[i], a.data()[i] + b.data()[i]) << i;
  EXPECT_TRUE(out.rest_is_untouched());
}

TEST_P(Limit, TriadAndCopyDoesBoth) {
  triad_and_copy(a.data(), b.data(), out.data(), out2.data(), count, stores);
  for (int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(out.data()[i], a.data()[i] + b.data()[i]) << i;
    ASSERT_EQ(out2.data()[i], a.data()[i]) << i;
  }
  EXPECT_TRUE(out.rest_is_untouched());
  EXPECT_TRUE(out2.rest_is_untouched());
}

// Nothing, less than a line, odd numbers of lines with and without a rest, fewer lines than threads, many.
INSTANTIATE_TEST_SUITE_P(Counts, Limit,
                         testing::Combine(testing::Values(0, 1, 15, 16, 17, 48, 63, 64, 1000, 12345),
                                          testing::Values(Stores::kOrdinary, Stores::kStreaming)));

}  // namespace
}  // namespace samplenorm::bench
