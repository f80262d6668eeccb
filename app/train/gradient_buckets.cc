#include "train/gradient_buckets.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>

#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "samplenorm/error.h"

namespace samplenorm::train {
namespace {

/// Parameters whose gradients go out together, in a buffer with a number behind them for each: how many ranks have it.
struct Bucket {
  std::vector<torch::Tensor> parameters;
  std::vector<float> values;
  size_t awaited = 0;  ///< parameters whose gradient is not there yet

  size_t size() const { return values.size() - parameters.size(); }
};

std::vector<Bucket> in_buckets(const std::vector<torch::Tensor>& parameters, size_t least_bytes) {
  std::vector<Bucket> buckets;
  size_t values = 0;
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    if (parameter->scalar_type() != torch::kFloat || !parameter->is_non_overlapping_and_dense())
      throw Error("gradients can be averaged of dense parameters in float32, and one is not");
    if (buckets.empty() || values * sizeof(float) >= least_bytes) {
      buckets.emplace_back();
      values = 0;
    }
    values += static_cast<size_t>(parameter->numel());
    buckets.back().parameters.push_back(*parameter);
    buckets.back().values.resize(values + buckets.back().parameters.size());
  }
  for (Bucket& bucket : buckets) bucket.awaited = bucket.parameters.size();
  return buckets;
}

/// Values in the order in which the parameter lies in memory, which is the same on all ranks.
torch::Tensor as_tensor(float* values, const torch::Tensor& parameter) {
  return torch::from_blob(values, parameter.sizes(), parameter.strides(), torch::kFloat);
}

/// By memcpy where it can be: an operator would start threads beside those of backward.
void copy_values(const torch::Tensor& from, torch::Tensor to) {
  if (from.strides() == to.strides()) {
    std::memcpy(to.mutable_data_ptr(), from.const_data_ptr(), from.nbytes());
  } else {
    to.copy_(from);
  }
}

void pack(Bucket& bucket) {
  float* to = bucket.values.data();
  float* has_gradient = to + bucket.size();
  for (const torch::Tensor& parameter : bucket.parameters) {
    const auto& gradient = parameter.grad();
    const auto count = static_cast<size_t>(parameter.numel());
    *has_gradient++ = gradient.defined() ? 1.F : 0.F;
    if (gradient.defined()) {
      copy_values(gradient, as_tensor(to, parameter));
    } else {
      std::fill_n(to, count, 0.F);
    }
    to += count;
  }
}

void unpack_mean(Bucket& bucket, int ranks) {
  float* from = bucket.values.data();
  const float* have_gradient = from + bucket.size();
  for (size_t i = 0; i < bucket.size(); ++i) from[i] /= static_cast<float>(ranks);
  for (torch::Tensor& parameter : bucket.parameters) {
    if (*have_gradient++ > 0) {
      auto& gradient = parameter.mutable_grad();
      if (!gradient.defined()) gradient = torch::empty_like(parameter, torch::requires_grad(false));
      copy_values(as_tensor(from, parameter), gradient);
    }
    from += parameter.numel();
  }
}

}  // namespace

/// The thread that sends one bucket after another, in the same order on every rank.
class GradientBuckets::Worker {
 public:
  Worker(std::vector<Bucket> buckets, std::shared_ptr<Communicator> communicator)
      : buckets_(std::move(buckets)), communicator_(std::move(communicator)), thread_([this] { work(); }) {}

  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  const std::vector<Bucket>& buckets() const { return buckets_; }
  Traffic traffic() const { return communicator_->traffic(); }

  /// One gradient of this bucket is there.
  void count(size_t bucket) {
    {
      const std::lock_guard lock(mutex_);
      if (--buckets_[bucket].awaited > 0) return;
    }
    changed_.notify_all();
  }

  void finish() {
    std::unique_lock lock(mutex_);
    backward_ended_ = true;  // what has not come will not come
    changed_.notify_all();
    changed_.wait(lock, [this] { return done_ == buckets_.size() || error_; });
    if (error_) std::rethrow_exception(error_);
    for (Bucket& bucket : buckets_) bucket.awaited = bucket.parameters.size();
    backward_ended_ = false;
    done_ = 0;
  }

 private:
  bool next_is_ready() const { return done_ < buckets_.size() && (backward_ended_ || buckets_[done_].awaited == 0); }

  void work() {
    const torch::NoGradGuard no_gradients;
    std::unique_lock lock(mutex_);
    while (!error_) {
      changed_.wait(lock, [this] { return stopped_ || next_is_ready(); });
      if (stopped_) return;
      Bucket& bucket = buckets_[done_];
      lock.unlock();
      std::exception_ptr error;
      try {
        pack(bucket);
        communicator_->sum(std::span(bucket.values));
        unpack_mean(bucket, communicator_->size());
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error;
      ++done_;
      changed_.notify_all();
    }
  }

  // A bucket's tensors and values belong to the thread from when it is ready until it is done; the rest to the mutex.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Bucket> buckets_;
  size_t done_ = 0;  // buckets of this step
  bool backward_ended_ = false;
  bool stopped_ = false;
  std::exception_ptr error_;
  const std::shared_ptr<Communicator> communicator_;
  std::thread thread_;
};

/// Autograd calls it when a parameter's gradient is whole.
class GradientBuckets::Hook : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(Worker& worker, size_t bucket) : worker_(worker), bucket_(bucket) {}
  void operator()(const torch::autograd::Variable&) override { worker_.count(bucket_); }

 private:
  Worker& worker_;
  const size_t bucket_;
};

GradientBuckets::GradientBuckets(std::vector<torch::Tensor> parameters, Communicator& communicator, size_t least_bytes)
    : parameters_(std::move(parameters)),
      worker_(std::make_unique<Worker>(in_buckets(parameters_, least_bytes), communicator.duplicate())) {
  for (size_t i = 0; i < worker_->buckets().size(); ++i)
    for (const torch::Tensor& parameter : worker_->buckets()[i].parameters)
      torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::make_unique<Hook>(*worker_, i));
}

GradientBuckets::~GradientBuckets() {
  for (const torch::Tensor& parameter : parameters_) torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
}

void GradientBuckets::finish() { worker_->finish(); }

Traffic GradientBuckets::traffic() const { return worker_->traffic(); }

}  // namespace samplenorm::train
