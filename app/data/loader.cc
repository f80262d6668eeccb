#include "data/loader.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "data/framer.h"
#include "data/keyed_random.h"
#include "samplenorm/error.h"

namespace samplenorm::data {
namespace {

/// A batch in the making. The consumer's thread allocates it, so that large tensors are freed where they were made.
struct Slot {
  Batch batch;
  float* images = nullptr;
  int64_t* labels = nullptr;
  int64_t skipped = 0;
  std::exception_ptr error;
  bool ready = false;
};

std::vector<int64_t> order_of_epoch(int64_t size, uint64_t seed, int64_t epoch, bool shuffled) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  if (!shuffled) return order;
  KeyedRandom random(Purpose::kOrder, {seed, static_cast<uint64_t>(epoch)});
  for (int64_t left = size; left > 1; --left) {
    std::swap(order[static_cast<size_t>(left - 1)], order[static_cast<size_t>(random.below(left))]);
  }
  return order;
}

void check(const DataSet& set, const LoaderOptions& options, int64_t size) {
  if (options.batch < 1 || options.workers < 1 || options.ahead < 1) {
    throw Error(fmt::format("loader: expected a batch, workers and batches ahead of 1 or more, got {}, {} and {}",
                            options.batch, options.workers, options.ahead));
  }
  if (options.rank < 0 || options.rank >= options.ranks) {
    throw Error(fmt::format("loader: expected a rank from 0 to {}, got {}", options.ranks - 1, options.rank));
  }
  if (options.batch < options.ranks) {
    throw Error(fmt::format("a batch of {} images cannot be shared by {} processes: each needs one or more",
                            options.batch, options.ranks));
  }
  if (size < (options.training ? options.batch : 1)) {
    throw Error(fmt::format("data set {}: expected at least {} images, for one batch, found {}", set.name,
                            options.training ? options.batch : 1, size));
  }
}

}  // namespace

/// Step s is made in slot s % ahead. Workers take steps in turn, at most `ahead` beyond what has been handed out.
class Loader::Workers {
 public:
  Workers(const DataSet& set, const LoaderOptions& options)
      : options_(options),
        images_(options.training ? set.train : set.test),
        channels_(set.channels),
        side_(set.side),
        framer_(set, options.training) {
    check(set, options, images_->size());
    slots_.resize(static_cast<size_t>(options.ahead));
    for (int i = 0; i < options.workers; ++i) threads_.emplace_back([this] { work(); });
  }

  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      cancelled_ = true;
    }
    for_workers_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  int64_t steps() const {
    const int64_t size = images_->size();
    return options_.training ? size / options_.batch : (size + options_.batch - 1) / options_.batch;
  }

  void begin(int64_t epoch, int64_t first_step) {
    if (first_step < 0 || first_step > steps()) {
      throw Error(fmt::format("loader: expected a first step from 0 to {}, got {}", steps(), first_step));
    }
    std::unique_lock lock(mutex_);
    end_ = 0;  // nothing new is begun
    cancelled_ = true;
    for_consumer_.wait(lock, [this] { return busy_ == 0; });
    cancelled_ = false;

    epoch_ = epoch;
    order_ = order_of_epoch(images_->size(), options_.seed, epoch, options_.training);
    waited_seconds_ = 0;
    skipped_ = 0;
    next_out_ = next_made_ = first_step;
    for (int64_t step = first_step; step < std::min(steps(), first_step + options_.ahead); ++step) prepare(step);
    end_ = steps();
    lock.unlock();
    for_workers_.notify_all();
  }

  std::optional<Batch> next() {
    std::unique_lock lock(mutex_);
    if (next_out_ >= end_) return std::nullopt;
    Slot& slot = slot_of(next_out_);
    if (!slot.ready) {
      const auto start = std::chrono::steady_clock::now();
      for_consumer_.wait(lock, [&] { return slot.ready; });
      waited_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    if (slot.error) std::rethrow_exception(slot.error);
    skipped_ += slot.skipped;
    Batch batch = std::move(slot.batch);
    if (next_out_ + options_.ahead < end_) prepare(next_out_ + options_.ahead);
    ++next_out_;
    lock.unlock();
    for_workers_.notify_one();
    return batch;
  }

  double waited_seconds() const { return waited_seconds_; }
  int64_t skipped() const { return skipped_; }

 private:
  Slot& slot_of(int64_t step) { return slots_[static_cast<size_t>(step % options_.ahead)]; }

  /// Of the epoch's order: this rank's rows of a step.
  struct Rows {
    int64_t begin;
    int64_t end;
  };
  Rows rows_of(int64_t step) const {
    const int64_t first = step * options_.batch;
    const int64_t all = std::min(options_.batch, images_->size() - first);
    return {first + all * options_.rank / options_.ranks, first + all * (options_.rank + 1) / options_.ranks};
  }

  void prepare(int64_t step) {
    Slot slot;
    const auto [begin, end] = rows_of(step);
    const int64_t rows = end - begin;
    slot.batch.images = torch::empty({rows, channels_, side_, side_},
                                     torch::TensorOptions().dtype(torch::kFloat32).requires_grad(false),
                                     torch::MemoryFormat::ChannelsLast);
    slot.batch.labels = torch::empty({rows}, torch::kInt64);
    slot.images = slot.batch.images.data_ptr<float>();
    slot.labels = slot.batch.labels.data_ptr<int64_t>();
    slot_of(step) = std::move(slot);
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      for_workers_.wait(lock,
                        [this] { return stopped_ || (next_made_ < end_ && next_made_ < next_out_ + options_.ahead); });
      if (stopped_) return;
      const int64_t step = next_made_++;
      Slot& slot = slot_of(step);
      ++busy_;
      lock.unlock();
      try {
        make(step, slot);
      } catch (...) {
        slot.error = std::current_exception();
      }
      lock.lock();
      --busy_;
      slot.ready = true;
      for_consumer_.notify_all();
    }
  }

  void make(int64_t step, Slot& slot) const {
    const auto [begin, end] = rows_of(step);
    for (int64_t row = 0; row < end - begin && !cancelled_; ++row) {
      const int64_t asked = order_[static_cast<size_t>(begin + row)];
      const int64_t taken = write_first_whole(asked, slot.images + row * framer_.values());
      slot.labels[row] = images_->label(taken);
      if (taken != asked) ++slot.skipped;
    }
  }

  /// Writes image `index`, or the next behind it that can be decoded, whose index it returns.
  int64_t write_first_whole(int64_t index, float* to) const {
    const int64_t size = images_->size();
    for (int64_t i = 0; i < size && !cancelled_; ++i) {
      const int64_t candidate = (index + i) % size;
      const auto image = images_->image(candidate, framer_.least_side());
      if (!image) continue;
      framer_.write(*image,
                    KeyedRandom(Purpose::kAugmentation,
                                {options_.seed, static_cast<uint64_t>(epoch_), static_cast<uint64_t>(candidate)}),
                    to);
      return candidate;
    }
    if (cancelled_) return index;
    throw Error(fmt::format("none of the {} images of this half can be decoded", size));
  }

  const LoaderOptions options_;
  const std::shared_ptr<const ImageSet> images_;
  const int64_t channels_;
  const int64_t side_;
  const Framer framer_;

  // For all below; a slot in the making belongs to its worker, order_ and epoch_ change while none works.
  std::mutex mutex_;
  std::condition_variable for_workers_;
  std::condition_variable for_consumer_;
  std::vector<Slot> slots_;
  std::vector<int64_t> order_;
  int64_t epoch_ = 0;
  int64_t next_made_ = 0;
  int64_t next_out_ = 0;
  int64_t end_ = 0;
  int64_t busy_ = 0;
  double waited_seconds_ = 0;
  int64_t skipped_ = 0;
  bool stopped_ = false;
  std::atomic<bool> cancelled_ = false;
  std::vector<std::thread> threads_;
};

Loader::Loader(const DataSet& set, const LoaderOptions& options) : workers_(std::make_unique<Workers>(set, options)) {}
Loader::~Loader() = default;

int64_t Loader::steps() const { return workers_->steps(); }
void Loader::begin(int64_t epoch, int64_t first_step) { workers_->begin(epoch, first_step); }
std::optional<Batch> Loader::next() { return workers_->next(); }
double Loader::waited_seconds() const { return workers_->waited_seconds(); }
int64_t Loader::skipped() const { return workers_->skipped(); }

}  // namespace samplenorm::data
