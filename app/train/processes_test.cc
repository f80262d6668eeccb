#include "train/processes.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "models/model.h"
#include "samplenorm/error.h"
#include "train/testing.h"

namespace samplenorm::train {
namespace {

std::vector<std::shared_ptr<models::Network>> equal_networks(int count) {
  std::vector<std::shared_ptr<models::Network>> networks;
  for (int i = 0; i < count; ++i) {
    torch::manual_seed(1);
    networks.push_back(models::make_model("small", {.norm = "LS-1/64", .classes = 5, .channels = 3}));
  }
  return networks;
}

size_t index_of(const std::shared_ptr<Communicator>& communicator) { return static_cast<size_t>(communicator->rank()); }

TEST(Processes, AStepsFiguresAndWishesAreAddedUpInOneCall) {
  on_ranks(3, [](const auto& communicator) {
    const bool second = communicator->rank() == 1;
    const auto sums = sum_over(*communicator, {.loss = 1.5,
                                               .images = 2,
                                               .right = 1.0 * communicator->rank(),
                                               .skipped = second ? 4.0 : 0.0,
                                               .stop = second ? 1.0 : 0.0});
    EXPECT_EQ(sums.loss, 4.5);
    EXPECT_EQ(sums.images, 6);
    EXPECT_EQ(sums.right, 3);
    EXPECT_EQ(sums.skipped, 4);
    EXPECT_EQ(sums.stop, 1);
    EXPECT_EQ(sums.save, 0);
    EXPECT_EQ(communicator->traffic().collectives, kStepSumsTraffic.collectives);
    EXPECT_EQ(communicator->traffic().bytes, kStepSumsTraffic.bytes);
  });
}

TEST(Processes, ATextComesFromItsRootWhateverTheOthersHave) {
  on_ranks(3, [](const auto& communicator) {
    const std::string own(static_cast<size_t>(3 - communicator->rank()), 'a');
    EXPECT_EQ(broadcast_text(*communicator, own), "aaa");
    EXPECT_EQ(broadcast_text(*communicator, own, 2), "a");
    EXPECT_EQ(broadcast_text(*communicator, communicator->rank() == 1 ? "" : own, 1), "");
  });
}

TEST(Processes, TheLowestRankThatHasSomethingToSayIsHeard) {
  on_ranks(3, [](const auto& communicator) {
    const auto said_by = [&](int least) {
      const int rank = communicator->rank();
      return first_of(*communicator, rank >= least ? std::optional("rank " + std::to_string(rank)) : std::nullopt);
    };
    EXPECT_EQ(said_by(0), "rank 0");
    EXPECT_EQ(said_by(2), "rank 2");
    EXPECT_EQ(said_by(3), std::nullopt);
  });
}

TEST(Processes, RunningStatisticsBecomeTheirMeansAndThenStayAsTheyAre) {
  const auto networks = equal_networks(3);
  on_ranks(3, [&](const auto& communicator) {
    const auto& network = *networks[index_of(communicator)];
    const auto buffers = network.named_buffers();
    for (const auto& item : buffers)
      if (item.value().is_floating_point()) item.value().add_(0.1 * communicator->rank() * communicator->rank());
    average_running_statistics(*communicator, network);
    const auto expected = torch::full({}, 0.5 / 3, torch::kDouble);
    std::vector<torch::Tensor> first;
    for (const auto& item : buffers) {
      first.push_back(item.value().clone());
      if (!item.value().is_floating_point()) continue;
      const double begin = item.key().ends_with("running_mean") ? 0 : 1;
      EXPECT_TRUE(torch::allclose(item.value().to(torch::kDouble), begin + expected, 1e-6, 1e-6)) << item.key();
    }
    average_running_statistics(*communicator, network);
    for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(first[i].equal(buffers[i].value())) << buffers[i].key();
  });
}

TEST(Processes, StateComesFromRank0) {
  const auto networks = equal_networks(2);
  std::vector<Sgd> optimizers;
  for (const auto& network : networks) optimizers.emplace_back(*network, SgdOptions{});
  on_ranks(2, [&](const auto& communicator) {
    const torch::NoGradGuard no_gradients;
    const size_t i = index_of(communicator);
    const auto value = static_cast<double>(7 + i);
    for (auto& parameter : networks[i]->parameters()) parameter.fill_(value);
    for (auto& buffer : networks[i]->buffers()) buffer.fill_(value);
    for (const auto& slot : optimizers[i].slots()) torch::Tensor(slot.velocity).fill_(value);
    EpochSums sums{.steps = static_cast<int64_t>(i), .loss = value};
    broadcast_state(*communicator, *networks[i], optimizers[i], sums);
    EXPECT_EQ(sums.steps, 0);
    EXPECT_EQ(sums.loss, 7);
    for (const auto& [name, tensor] : state_of(*networks[i], optimizers[i], {}))
      EXPECT_TRUE(name.starts_with("trainer.") || tensor.equal(torch::full_like(tensor, 7))) << name;
  });
}

TEST(Processes, WeightsThatDifferInOneBitAreFoundAndTheirRankIsNamed) {
  const auto networks = equal_networks(3);
  on_ranks(3, [&](const auto& communicator) {
    const auto& network = *networks[index_of(communicator)];
    EXPECT_NO_THROW(check_same_weights(*communicator, network));
    if (communicator->rank() == 2) {
      const torch::NoGradGuard no_gradients;
      auto first = network.parameters().back()[0];
      first.copy_(torch::nextafter(first, torch::full({}, 1.F)));
    }
    try {
      check_same_weights(*communicator, network);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "the weights of rank 2 are not those of rank 0 any more, to the last bit");
    }
  });
}

TEST(Processes, ACommunicatorIsFoundByItsNameWhileItIsRegistered) {
  const auto communicator = thread_communicators(1).front();
  std::string name;
  {
    const RegisteredCommunicator registered(communicator);
    name = registered.name();
    EXPECT_EQ(find_communicator(name), communicator);
  }
  EXPECT_THROW(find_communicator(name), Error);
}

}  // namespace
}  // namespace samplenorm::train
