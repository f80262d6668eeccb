#include "data/subset.h"

namespace samplenorm::data {
namespace {

class EvenlySpread : public ImageSet {
 public:
  EvenlySpread(std::shared_ptr<const ImageSet> set, int64_t count) : set_(std::move(set)), count_(count) {}

  int64_t size() const override { return count_; }
  int64_t label(int64_t index) const override { return set_->label(whole(index)); }
  std::optional<Image> image(int64_t index, int64_t least_side) const override {
    return set_->image(whole(index), least_side);
  }

 private:
  int64_t whole(int64_t index) const { return index * set_->size() / count_; }

  std::shared_ptr<const ImageSet> set_;
  int64_t count_;
};

}  // namespace

std::shared_ptr<const ImageSet> evenly_spread(std::shared_ptr<const ImageSet> set, int64_t count) {
  return std::make_shared<EvenlySpread>(std::move(set), count);
}

}  // namespace samplenorm::data
