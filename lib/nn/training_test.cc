// A network trains with every method and every norm: it learns to tell apart textures, and as well in evaluation.

#include "nn/testing.h"
#include "samplenorm/samplenorm.h"

namespace samplenorm {
namespace {

struct Network : torch::nn::Module {
  explicit Network(const std::string& notation)
      : conv1(torch::nn::Conv2dOptions(1, 8, 3).padding(1).bias(false)),
        conv2(torch::nn::Conv2dOptions(8, 8, 3).padding(1).bias(false)),
        norm1(make_norm(notation, 8, true)),
        norm2(make_norm(notation, 8, true)),
        linear(8, 4) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("norm1", norm1);
    register_module("norm2", norm2);
    register_module("linear", linear);
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor first = norm1->forward(conv1->forward(x));
    return linear->forward(norm2->forward(conv2->forward(first), first).mean({2, 3}));
  }

  torch::nn::Conv2d conv1, conv2;
  std::shared_ptr<Norm> norm1, norm2;
  torch::nn::Linear linear;
};

struct Batch {
  torch::Tensor images, labels;
};

/// Stripes of four directions, at random brightness, in noise.
Batch textures(int64_t count) {
  const torch::Tensor labels = torch::randint(4, {count});
  const torch::Tensor angle = labels.to(torch::kFloat) * (M_PI / 4);
  const torch::Tensor axis = torch::arange(8, torch::kFloat);
  const auto column = [](const torch::Tensor& t) { return t.view({-1, 1, 1}); };
  const torch::Tensor phase = column(angle.cos()) * axis.view({1, 8, 1}) + column(angle.sin()) * axis.view({1, 1, 8});
  const torch::Tensor waves = torch::sin(2 * phase + column(6 * torch::rand({count})));
  return {(waves + 0.5 * torch::randn({count, 8, 8}) + column(torch::rand({count}))).unsqueeze(1), labels};
}

class Training : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Norms, Training,
                         ::testing::Values("BN", "NS-16/64", "BS-16/64", "FS-1/8", "LS-1/16;least=1", "VDN-8/64",
                                           "FRS-1/8", "FS-1/8+VDN-4/64", "LS-1/16+VDN-4/64;least=1", "BN;stat_batch=16",
                                           "L1BN", "RBN", "GN-4", "LN", "VBN-16"),
                         [](const auto& one) {
                           std::string name = one.param;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

TEST_P(Training, LearnsAndEvaluatesWell) {
  torch::manual_seed(11);
  auto network = std::make_shared<Network>(GetParam());
  set_seed(*network, 1);
  VirtualBatch virtual_batch{nullptr};
  if (GetParam().starts_with("VBN")) {
    virtual_batch = VirtualBatch(textures(16).images);
  } else if (const int64_t rows = GetParam().find("VDN") == std::string::npos ? 0 : parse(GetParam()).virtual_rows()) {
    DatasetStatistics data(1);
    data->add(textures(500).images);
    virtual_batch = VirtualBatch(data->mean(), data->std(), rows);
  }
  const auto run = [&](const torch::Tensor& x) {
    const auto forward = [&](const torch::Tensor& input) { return network->forward(input); };
    return virtual_batch.is_empty() ? forward(x) : virtual_batch->forward(x, forward);
  };
  torch::optim::SGD optimizer(network->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  for (int step = 0; step < 150; ++step) {
    if (step % 30 == 0) set_epoch(*network, static_cast<uint64_t>(step / 30));
    const Batch batch = textures(64);
    const torch::Tensor loss = torch::nn::functional::cross_entropy(run(batch.images), batch.labels);
    ASSERT_TRUE(loss.isfinite().item<bool>()) << "at step " << step;
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  network->eval();
  if (!virtual_batch.is_empty()) virtual_batch->eval();
  const Batch test = textures(512);
  const double accuracy = run(test.images).argmax(1).eq(test.labels).to(torch::kFloat).mean().item<double>();
  EXPECT_GT(accuracy, 0.8);
}

}  // namespace
}  // namespace samplenorm
