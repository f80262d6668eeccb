#include "core/layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace samplenorm {
namespace {

TEST(Layout, GivesEveryElementAPlaceOfItsOwn) {
  for (const Layout& layout : {Layout::contiguous(2, 3, 4, 5, 6), Layout::channels_last(2, 3, 4, 5, 6)}) {
    std::vector<int> taken(2 * 3 * 4 * 5 * 6);
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t c = 0; c < 3; ++c)
        for (int64_t s = 0; s < layout.points(); ++s)
          ++taken.at(static_cast<size_t>(n * layout.row_stride + c * layout.channel_stride + s * layout.point_stride));
    EXPECT_EQ(taken, std::vector<int>(taken.size(), 1));
  }
}

TEST(Layout, PutsChannelsWhereTheMemoryFormatSays) {
  EXPECT_EQ(Layout::contiguous(2, 3, 1, 5, 6).channel_stride, 30);
  EXPECT_EQ(Layout::contiguous(2, 3, 1, 5, 6).point_stride, 1);
  EXPECT_EQ(Layout::channels_last(2, 3, 1, 5, 6).channel_stride, 1);
  EXPECT_EQ(Layout::channels_last(2, 3, 1, 5, 6).point_stride, 3);
}

TEST(Layout, OfFewerRowsKeepsItsStrides) {
  const Layout part = Layout::channels_last(8, 3, 1, 5, 6).with_rows(2);
  EXPECT_EQ(part.rows, 2);
  EXPECT_EQ(part.row_stride, 90);
  EXPECT_EQ(part.row_elements(), 90);
}

}  // namespace
}  // namespace samplenorm
