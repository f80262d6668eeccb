#include "train/gradient_buckets.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <chrono>

#include "samplenorm/error.h"
#include "train/testing.h"

namespace samplenorm::train {
namespace {

constexpr int kRanks = 3;

/// `unused` gets no gradient; `sometimes` gets one if it is asked for.
struct NetworkImpl : torch::nn::Module {
  NetworkImpl() {
    convolution = register_module("convolution", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 3)));
    convolution->weight.set_data(convolution->weight.contiguous(torch::MemoryFormat::ChannelsLast));
    unused = register_parameter("unused", torch::ones({6}));
    linear = register_module("linear", torch::nn::Linear(16, 5));
    sometimes = register_parameter("sometimes", torch::ones({5}));
  }

  torch::Tensor loss(const torch::Tensor& x, bool with_sometimes) {
    const auto y = linear(convolution(x).relu().flatten(1));
    return (with_sometimes ? y * sometimes : y).square().mean();
  }

  torch::nn::Conv2d convolution{nullptr};
  torch::nn::Linear linear{nullptr};
  torch::Tensor unused;
  torch::Tensor sometimes;
};
TORCH_MODULE(Network);

std::vector<Network> equal_networks() {
  std::vector<Network> networks;
  for (int rank = 0; rank < kRanks; ++rank) {
    torch::manual_seed(1);
    networks.emplace_back();
  }
  return networks;
}

torch::Tensor input_of(int rank, int step) {
  return torch::arange(2 * 3 * 4 * 4, torch::kFloat).view({2, 3, 4, 4}).mul(0.7 + 0.1 * rank + step).sin();
}

void clear_gradients(Network& network) {
  for (auto& parameter : network->parameters()) parameter.mutable_grad().reset();
}

/// Added in the order of ranks and divided, as the communicator of threads does it.
std::vector<torch::Tensor> means_by_hand(int step) {
  std::vector<torch::Tensor> sums;
  auto networks = equal_networks();
  for (int rank = 0; rank < kRanks; ++rank) {
    Network& network = networks[static_cast<size_t>(rank)];
    network->loss(input_of(rank, step), rank == 1).backward();
    const auto parameters = network->parameters();
    sums.resize(parameters.size());
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].grad().defined()) continue;
      sums[i] = sums[i].defined() ? sums[i] + parameters[i].grad() : parameters[i].grad();
    }
  }
  for (auto& sum : sums)
    if (sum.defined()) sum /= kRanks;
  return sums;
}

TEST(GradientBuckets, GradientsAreTheMeansOverTheRanksToTheLastBit) {
  // Before there are threads: they share one generator of first weights.
  std::vector<std::vector<torch::Tensor>> expected_at;
  for (int step = 0; step < 3; ++step) expected_at.push_back(means_by_hand(step));
  for (const size_t bytes : {size_t{1}, size_t{100}, GradientBuckets::kBytes}) {
    auto networks = equal_networks();
    on_ranks(kRanks, [&](const auto& communicator) {
      Network& network = networks[static_cast<size_t>(communicator->rank())];
      GradientBuckets buckets(network->parameters(), *communicator, bytes);
      for (int step = 0; step < 3; ++step) {
        clear_gradients(network);
        network->loss(input_of(communicator->rank(), step), communicator->rank() == 1).backward();
        buckets.finish();
        const auto& expected = expected_at[static_cast<size_t>(step)];
        const auto parameters = network->named_parameters();
        for (size_t i = 0; i < expected.size(); ++i) {
          const auto& gradient = parameters[i].value().grad();
          ASSERT_EQ(gradient.defined(), expected[i].defined()) << parameters[i].key();
          EXPECT_TRUE(!gradient.defined() || gradient.equal(expected[i])) << parameters[i].key() << ", step " << step;
        }
      }
    });
  }
}

TEST(GradientBuckets, BucketsHaveTheirLeastSize) {
  for (const auto& [bytes, calls] : {std::pair<size_t, int64_t>{1, 6}, {6 * 4, 3}, {GradientBuckets::kBytes, 1}}) {
    auto networks = equal_networks();
    on_ranks(kRanks, [&](const auto& communicator) {
      Network& network = networks[static_cast<size_t>(communicator->rank())];
      GradientBuckets buckets(network->parameters(), *communicator, bytes);
      network->loss(input_of(0, 0), true).backward();
      buckets.finish();
      EXPECT_EQ(buckets.traffic().collectives, calls) << bytes;
      EXPECT_EQ(communicator->traffic().collectives, 0) << "that is for others";
    });
  }
}

/// The identity, whose backward waits for the first bucket to go out.
struct Gate : torch::autograd::Function<Gate> {
  static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor& x) { return x.clone(); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    const auto begin = std::chrono::steady_clock::now();
    while (watched->traffic().collectives == 0 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20))
      std::this_thread::yield();
    calls_seen = watched->traffic().collectives;
    return gradients;
  }
  static inline const GradientBuckets* watched = nullptr;
  static inline int64_t calls_seen = 0;
};

TEST(GradientBuckets, TheFirstGoOutWhileBackwardStillRuns) {
  const auto communicator = thread_communicators(1).front();
  torch::nn::Linear before(4, 4), behind(4, 4);
  auto parameters = before->parameters();
  for (const auto& parameter : behind->parameters()) parameters.push_back(parameter);
  GradientBuckets buckets(parameters, *communicator, /*least_bytes=*/1);
  Gate::watched = &buckets;
  behind(Gate::apply(before(torch::ones({2, 4})))).sum().backward();
  EXPECT_GT(Gate::calls_seen, 0);
  buckets.finish();
  EXPECT_EQ(buckets.traffic().collectives, 4);
}

class Broken : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::shared_ptr<Communicator> duplicate() override { return std::make_shared<Broken>(); }

 private:
  void do_sum(std::span<double>) override {}
  void do_sum(std::span<float>) override { throw Error("the line is cut"); }
  void do_sum_of(std::span<const int>, std::span<double>) override {}
  void do_broadcast(std::span<std::byte>, int) override {}
};

TEST(GradientBuckets, WhatGoesWrongMeanwhileComesOutOfFinish) {
  Broken communicator;
  torch::nn::Linear linear(2, 2);
  GradientBuckets buckets(linear->parameters(), communicator);
  linear(torch::ones({1, 2})).sum().backward();
  EXPECT_THROW(buckets.finish(), Error);
  EXPECT_THROW(buckets.finish(), Error);
}

TEST(GradientBuckets, LeavesNoHooksBehind) {
  const auto communicator = thread_communicators(1).front();
  torch::nn::Linear linear(2, 2);
  { GradientBuckets(linear->parameters(), *communicator); }
  linear(torch::ones({1, 2})).sum().backward();
  EXPECT_TRUE(linear->weight.grad().defined());
  const auto half = torch::ones(2, torch::kHalf).requires_grad_();
  EXPECT_THROW(GradientBuckets({half}, *communicator), Error);
}

}  // namespace
}  // namespace samplenorm::train
