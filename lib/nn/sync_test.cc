// Sync: several processes (threads here) with a part of the rows each get what one process with all rows gets, forward
// and backward, whatever the method and however the rows are split.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/points.h"
#include "nn/driver.h"
#include "samplenorm/communicator.h"
#include "samplenorm/norm.h"
#include "samplenorm/virtual_batch.h"

namespace samplenorm {
namespace {

std::string group_of(int rank) { return "sync_test/" + std::to_string(rank); }

/// Calls work(rank) in a thread for each rank; its communicator has the name group_of(rank).
template <class Work>
std::vector<std::shared_ptr<Communicator>> on_ranks(int ranks, Work work) {
  auto communicators = thread_communicators(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    register_communicator(group_of(rank), communicators[static_cast<size_t>(rank)]);
    threads.emplace_back([&work, rank] { work(rank); });
  }
  for (std::thread& thread : threads) thread.join();
  return communicators;
}

const torch::Tensor kKey = key_tensor({7, 3, 5, 0});
Key parsed_key(int rank, int ranks) {
  return {
      .seed = 7, .layer = 3, .epoch = 5, .rank = static_cast<uint64_t>(rank), .ranks = static_cast<uint64_t>(ranks)};
}

struct Sharing {
  std::string notation;
  std::vector<int64_t> rows;  // real ones of each rank
  bool channels_last = true;

  int ranks() const { return static_cast<int>(rows.size()); }
};

std::ostream& operator<<(std::ostream& stream, const Sharing& c) {
  return stream << c.notation << " on rows " << at::IntArrayRef(c.rows) << (c.channels_last ? ", channels last" : "");
}

struct Problem {
  torch::Tensor x, residual, dy, weight, bias;
};

/// Rows of one rank, those of the ranks before it being `first`.
torch::Tensor part(const torch::Tensor& whole, int64_t first, int64_t rows, bool channels_last) {
  return whole.narrow(0, first, rows)
      .contiguous(channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous)
      .detach();
}

class SyncTest : public ::testing::TestWithParam<Sharing> {
 protected:
  static constexpr int64_t kChannels = 5, kSide = 6;
  static constexpr double kEps = 1e-3;

  void SetUp() override {
    torch::manual_seed(1);
    const Spec spec = parse(GetParam().notation);
    int64_t all = 0;
    Sample pooled;
    for (int rank = 0; rank < GetParam().ranks(); ++rank) {
      const Key key = parsed_key(rank, GetParam().ranks());
      const int64_t carried = carries_virtual_rows(spec.nodes, key) ? spec.virtual_rows() : 0;
      rows_.push_back(GetParam().rows[static_cast<size_t>(rank)] + carried);
      const Sample sample = draw_chunks({rows_.back(), kChannels, kSide, kSide}, spec, key, true)[0].sample;
      if (rank == 0) pooled.groups.resize(sample.groups.size());
      for (size_t g = 0; g < sample.groups.size(); ++g) {
        pooled.groups[g].weight = sample.groups[g].weight;
        for (Box box : sample.groups[g].boxes) {
          box.rows.begin += all;
          box.rows.end += all;
          pooled.groups[g].boxes.push_back(box);
        }
      }
      all += rows_.back();
    }
    pooled_ = pooled;

    const auto random = [&](at::IntArrayRef sizes) { return torch::randn(sizes, torch::kDouble); };
    const std::vector<int64_t> sizes = {all, kChannels, kSide, kSide};
    whole_ = {random(sizes) * 2 + random({1, kChannels, 1, 1}), random(sizes), random(sizes), random({kChannels}),
              random({kChannels})};
    expect();
  }

  /// One process with all rows, by ATen's own derivatives.
  void expect() {
    torch::Tensor x = whole_.x.detach().requires_grad_(), residual = whole_.residual.detach().requires_grad_();
    torch::Tensor weight = whole_.weight.detach().requires_grad_(), bias = whole_.bias.detach().requires_grad_();
    torch::Tensor mean = torch::zeros({kChannels}, torch::kDouble), var = mean;
    for (const Group& group : pooled_.groups) {
      std::vector<torch::Tensor> points;
      for_each_point(group, kSide, kSide,
                     [&](int64_t n, int64_t point) { points.push_back(x[n].flatten(1).select(1, point)); });
      const torch::Tensor sampled = torch::stack(points);
      mean = mean + group.weight * sampled.mean(0);
      var = var + group.weight * sampled.var(0, /*unbiased=*/false);
    }
    const auto by_channel = [](const torch::Tensor& values) { return values.view({1, -1, 1, 1}); };
    const torch::Tensor scale = weight / torch::sqrt(var + kEps);
    expected_y_ = torch::relu((x - by_channel(mean)) * by_channel(scale) + by_channel(bias) + residual);
    const auto gradients = torch::autograd::grad({expected_y_}, {x, weight, bias, residual}, {whole_.dy});
    expected_ = {{gradients[0]}, gradients[1], gradients[2], gradients[3]};
  }

  template <class Forward, class Backward>
  void check(Forward forward, Backward backward) {
    const Sharing& c = GetParam();
    std::vector<torch::Tensor> y(rows_.size()), dx(rows_.size()), dresidual(rows_.size()), dweight(rows_.size()),
        dbias(rows_.size()), mean(rows_.size());
    const auto communicators = on_ranks(c.ranks(), [&](int rank) {
      const auto r = static_cast<size_t>(rank);
      int64_t first = 0;
      for (size_t before = 0; before < r; ++before) first += rows_[before];
      const auto mine = [&](const torch::Tensor& whole) { return part(whole, first, rows_[r], c.channels_last); };
      const std::vector<torch::Tensor> x = {mine(whole_.x)};
      const auto out = forward(x, whole_.weight, whole_.bias, mine(whole_.residual), c.notation, kKey, kEps, "relu",
                               false, group_of(rank), rank, c.ranks(), true, {}, {}, {}, {}, false);
      y[r] = std::get<0>(out);
      mean[r] = std::get<1>(out).select(1, kMean);
      const auto gradients =
          backward(mine(whole_.dy), x, whole_.weight, whole_.bias, std::get<1>(out), std::get<2>(out), std::get<3>(out),
                   c.notation, kKey, "relu", false, group_of(rank), rank, c.ranks(), true);
      dx[r] = std::get<0>(gradients)[0];
      dweight[r] = std::get<1>(gradients);
      dbias[r] = std::get<2>(gradients);
      dresidual[r] = std::get<3>(gradients);
    });
    const auto close = [](const torch::Tensor& a, const torch::Tensor& b) {
      return torch::allclose(a, b, 1e-10, 1e-11);
    };
    EXPECT_TRUE(close(torch::cat(y), expected_y_));
    EXPECT_TRUE(close(torch::cat(dx), expected_.x[0]));
    EXPECT_TRUE(close(torch::cat(dresidual), expected_.residual));
    EXPECT_TRUE(close(torch::stack(dweight).sum(0), expected_.weight));
    EXPECT_TRUE(close(torch::stack(dbias).sum(0), expected_.bias));
    for (const torch::Tensor& other : mean) EXPECT_TRUE(torch::equal(other, mean[0])) << "not the same bits";
    for (const auto& communicator : communicators) EXPECT_EQ(communicator->traffic().collectives, 2);
  }

  std::vector<int64_t> rows_;  // with virtual ones
  Sample pooled_;              // of all processes, in rows of the whole
  Problem whole_;
  torch::Tensor expected_y_;
  Gradients expected_;
};

TEST_P(SyncTest, EqualsOneProcessWithTheWholeBatch) {
  check(driver::forward<registered_steps>, driver::backward<registered_steps>);
  ;
}
TEST_P(SyncTest, WrittenInAtenCallsEqualsOneProcessWithTheWholeBatch) {
  check(driver::forward<aten_steps>, driver::backward<aten_steps>);
  ;
}

std::vector<Sharing> cases() {
  std::vector<Sharing> all;
  for (const std::string notation :
       {"BN", "NS-1/2", "BS-2/4", "BS-2/4;nodes=1/2", "BS-1/4;nodes=1", "FS-1/4", "LS-1/4;least=1", "FRS-1/8",
        "VDN-2/128", "VDN-2/128;nodes=1", "FS-1/4+VDN-2/128", "FS-1/4+VDN-2/128;nodes=1",
        "LS-1/6+VDN-1/128;nodes=1/2;least=1", "BS-2/4+VDN-1/128;nodes=1"})
    for (const std::vector<int64_t>& rows : {std::vector<int64_t>{4, 4}, {3, 3, 3, 3}, {1, 6, 2}, {4, 0, 3}, {0, 5}})
      all.push_back({notation, rows, all.size() % 2 == 0});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Methods, SyncTest, ::testing::ValuesIn(cases()));

TEST(Sync, OfAProcessThatWasChosenAndHasNoRowsIsAnErrorOnEachOfThem) {
  const int chosen = contributors(parse("BS-2/4;nodes=1"), parsed_key(0, 3)).at(0);
  for (const std::string notation : {"BS-2/4;nodes=1", "BS-2/4+VDN-1/128;nodes=1"}) {
    const Spec spec = parse(notation);
    std::atomic<int> errors = 0;
    on_ranks(3, [&](int rank) {
      const bool carries = carries_virtual_rows(spec.nodes, parsed_key(rank, 3));
      const int64_t rows = (rank == chosen ? 0 : 4) + (carries ? spec.virtual_rows() : 0);
      try {
        sampled_batch_norm({torch::randn({rows, 3, 6, 6})}, {}, {}, {}, notation, kKey, 1e-5, "relu", false,
                           group_of(rank), rank, 3);
      } catch (const c10::Error&) {
        ++errors;
      }
    });
    EXPECT_EQ(errors, 3) << notation;
  }
}

TEST(Sync, OfEqualSharesIsTheSampleOfOneProcess) {
  torch::manual_seed(2);
  const torch::Tensor x = torch::randn({12, 4, 6, 6}, torch::kDouble);
  for (const std::string notation : {"BN", "FS-1/4", "LS-1/4;least=1", "LS-1/6;least=1"}) {
    const torch::Tensor one = sampled_batch_norm({x}, {}, {}, {}, notation, kKey, 1e-5, "relu").y;
    std::vector<torch::Tensor> parts(3);
    on_ranks(3, [&](int rank) {
      parts[static_cast<size_t>(rank)] = sampled_batch_norm({x.narrow(0, 4 * rank, 4)}, {}, {}, {}, notation, kKey,
                                                            1e-5, "relu", false, group_of(rank), rank, 3)
                                             .y;
    });
    EXPECT_TRUE(torch::allclose(torch::cat(parts), one, 1e-10, 1e-11)) << notation;
  }
}

TEST(Sync, HandsInNoBytesWhereOthersContribute) {
  const torch::Tensor x = torch::randn({4, 8, 6, 6});
  const auto communicators = on_ranks(4, [&](int rank) {
    sampled_batch_norm({x}, {}, {}, {}, "BS-1/4;nodes=1", kKey, 1e-5, "relu", false, group_of(rank), rank, 4);
  });
  int64_t bytes = 0;
  for (const auto& communicator : communicators) {
    EXPECT_EQ(communicator->traffic().collectives, 1);
    bytes += communicator->traffic().bytes;
  }
  EXPECT_EQ(bytes, 8 * (1 + 2 * 8));
}

TEST(Sync, ModulesKeepTheSameRunningStatisticsAsOneProcessOnEveryRankWithoutRowsToo) {
  torch::manual_seed(3);
  const torch::Tensor x = torch::randn({8, 4, 5, 5});
  SampledBatchNorm2d one(NormOptions(4).spec("BN"));
  one->forward(x);
  std::vector<SampledBatchNorm2d> norms;
  for (int rank = 0; rank < 3; ++rank) norms.emplace_back(NormOptions(4).spec("BN"));
  const std::vector<int64_t> rows = {3, 5, 0};
  on_ranks(3, [&](int rank) {
    SampledBatchNorm2d& norm = norms[static_cast<size_t>(rank)];
    set_place(*norm, {rank, 3, group_of(rank)});
    norm->forward(x.narrow(0, rank == 1 ? 3 : 0, rows[static_cast<size_t>(rank)]));
  });
  for (const SampledBatchNorm2d& norm : norms) {
    EXPECT_TRUE(torch::allclose(norm->running_mean, one->running_mean, 1e-5, 1e-6));
    EXPECT_TRUE(torch::allclose(norm->running_var, one->running_var, 1e-5, 1e-6));
    EXPECT_TRUE(torch::equal(norm->running_var, norms[0]->running_var));
    EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 1);
  }
}

TEST(Sync, OfVirtualRowsOnOneProcessAloneNormalizesTheOthersWithThem) {
  const torch::Tensor x = torch::randn({4, 3, 6, 6});
  std::vector<torch::Tensor> y(4);
  std::vector<int64_t> rows_inside(4);
  on_ranks(4, [&](int rank) {
    VirtualBatch virtual_batch(
        VirtualBatchOptions(torch::zeros(3), torch::ones(3), 2).nodes(parse("VDN-2/128;nodes=1").nodes));
    SampledBatchNorm2d norm(NormOptions(3).spec("VDN-2/128;nodes=1"));
    for (torch::nn::Module* module : std::initializer_list<torch::nn::Module*>{virtual_batch.get(), norm.get()}) {
      set_seed(*module, 9);
      set_place(*module, {rank, 4, group_of(rank)});
    }
    y[static_cast<size_t>(rank)] = virtual_batch->forward(x, [&](const torch::Tensor& input) {
      rows_inside[static_cast<size_t>(rank)] = input.size(0);
      return norm->forward(input);
    });
  });
  std::ranges::sort(rows_inside);
  EXPECT_EQ(rows_inside, (std::vector<int64_t>{4, 4, 4, 6}));
  for (const torch::Tensor& other : y) EXPECT_TRUE(torch::equal(other, y[0]));
}

/// Outputs of the ranks' rows together, with statistics of their own, through VirtualBatch and norm.
torch::Tensor local(const torch::Tensor& x, const std::string& notation, int ranks) {
  const Spec spec = parse(notation);
  std::vector<torch::Tensor> parts;
  const int64_t rows = x.size(0) / ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    VirtualBatch virtual_batch(
        VirtualBatchOptions(torch::zeros(x.size(1)), torch::ones(x.size(1)), std::max<int64_t>(spec.virtual_rows(), 1))
            .stat_batch(spec.stat_batch));
    if (spec.virtual_rows() == 0) virtual_batch->eval();
    SampledBatchNorm2d norm(NormOptions(x.size(1)).spec(notation));
    for (torch::nn::Module* module : std::initializer_list<torch::nn::Module*>{virtual_batch.get(), norm.get()}) {
      set_seed(*module, 9);
      set_place(*module, {rank, ranks, ""});
    }
    parts.push_back(virtual_batch->forward(x.narrow(0, rank * rows, rows),
                                           [&](const torch::Tensor& input) { return norm->forward(input); }));
  }
  return torch::cat(parts);
}

TEST(Local, ProcessesGiveWhatAStatisticBatchGivesInOneProcess) {
  torch::manual_seed(4);
  const torch::Tensor x = torch::randn({256, 3, 6, 6});
  for (const std::string notation : {"BN", "BS-2/4", "FS-1/4", "LS-1/4;least=1", "VDN-2/4", "LS-1/4+VDN-1/4;least=1"}) {
    const torch::Tensor one = local(x, notation + ";stat_batch=4", 1);
    EXPECT_TRUE(torch::equal(local(x, notation + ";stat_batch=4", 4), one)) << notation << " on 4 of 64 rows";
    EXPECT_TRUE(torch::equal(local(x, notation + ";stat_batch=4", 64), one)) << notation << " on 64 of 4 rows";
    EXPECT_TRUE(torch::equal(local(x, notation, 64), one)) << notation << " on 64 without a statistic batch";
  }
}

TEST(Sync, WithAStatisticBatchIsAnErrorAndSoIsAnotherRank) {
  const torch::Tensor x = torch::randn({4, 3, 6, 6});
  const auto call = [&](const std::string& notation, int rank, int ranks) {
    sampled_batch_norm({x}, {}, {}, {}, notation, kKey, 1e-5, "relu", false, "sync_test/alone", rank, ranks);
  };
  register_communicator("sync_test/alone", single_process());
  EXPECT_NO_THROW(call("BN", 0, 1));
  EXPECT_THROW(call("BN;stat_batch=2", 0, 1), c10::Error);
  EXPECT_THROW(call("BN", 0, 2), c10::Error);
  EXPECT_THROW(call("BN", 2, 2), c10::Error);
  register_communicator("sync_test/alone", nullptr);
  EXPECT_ANY_THROW(call("BN", 0, 1));
}

TEST(Sync, HasNoSecondDerivativeAndSaysSo) {
  register_communicator("sync_test/alone", single_process());
  const torch::Tensor x = torch::randn({4, 3, 6, 6}).requires_grad_();
  const torch::Tensor y = sampled_batch_norm({x}, {}, {}, {}, "BN", kKey, 1e-5, "relu", false, "sync_test/alone").y;
  EXPECT_NO_THROW(torch::autograd::grad({y.sum()}, {x}, {}, /*retain_graph=*/true));
  EXPECT_THROW(torch::autograd::grad({y.sum()}, {x}, {}, true, /*create_graph=*/true), c10::NotImplementedError);
  register_communicator("sync_test/alone", nullptr);
}

TEST(Sync, OfOneValuePerChannelOnAllProcessesTogetherIsAnErrorOnEachOfThem) {
  const torch::Tensor x = torch::randn({1, 3, 1, 1});
  std::atomic<int> errors = 0;
  on_ranks(2, [&](int rank) {
    EXPECT_NO_THROW(sampled_batch_norm({x}, {}, {}, {}, "BN", kKey, 1e-5, "relu", false, group_of(rank), rank, 2));
    try {
      sampled_batch_norm({x.narrow(0, 0, rank)}, {}, {}, {}, "BN", kKey, 1e-5, "relu", false, group_of(rank), rank, 2);
    } catch (const c10::Error&) {
      ++errors;
    }
  });
  EXPECT_EQ(errors, 2);
}

}  // namespace
}  // namespace samplenorm
