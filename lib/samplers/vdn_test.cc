#include <gtest/gtest.h>

#include "samplers/testing.h"

namespace samplenorm {
namespace {

TEST(VirtualDataset, TakesTheVirtualRowsWhateverTheBatch) {
  for (const int64_t rows : {1, 8, 128})
    EXPECT_EQ(box_of("VDN-2/128", {2, rows, 1, 5, 7}), (Box{{0, 2}, {0, 1}, {0, 5}, {0, 7}}));
}

TEST(VirtualDataset, TakesARealRowTooWhereOneVirtualRowIsOnePoint) {
  EXPECT_EQ(box_of("VDN-1/128", {1, 8}).rows, (Range{0, 2}));
  EXPECT_EQ(box_of("VDN-2/128", {2, 8}).rows, (Range{0, 2}));
  EXPECT_EQ(box_of("VDN-1/128", {1, 8, 1, 1, 2}).rows, (Range{0, 1}));
}

TEST(VirtualDataset, IsAnErrorWithoutVirtualRows) {
  EXPECT_THROW(draw(parse("VDN-2/128"), {0, 8, 1, 5, 7}, {}), Error);
  EXPECT_THROW(draw(parse("FS-1/64+VDN-2/128"), {0, 8, 1, 5, 7}, {}), Error);
}

TEST(VirtualDataset, WithoutWeightNeedsNoVirtualRows) {
  EXPECT_NO_THROW(draw(parse("FS-1/64+VDN-2/128;beta=0"), {0, 8, 1, 5, 7}, {}));
}

}  // namespace
}  // namespace samplenorm
