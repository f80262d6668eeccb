// The example of the README: a small network whose batch normalization reads 1/64 of its data.
#include <samplenorm/samplenorm.h>
#include <torch/torch.h>

#include <iostream>

int main() {
  torch::nn::Sequential net(torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 32, 3).padding(1).bias(false)),
                            samplenorm::SampledBatchNorm2d(samplenorm::NormOptions(32).spec("LS-1/64").relu(true)),
                            torch::nn::AdaptiveAvgPool2d(1), torch::nn::Flatten(), torch::nn::Linear(32, 10));
  samplenorm::set_seed(*net, 1);
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  for (int epoch = 0; epoch < 2; ++epoch) {
    samplenorm::set_epoch(*net, epoch);  // draws new samples
    const torch::Tensor x = torch::randn({128, 3, 32, 32}), labels = torch::randint(10, {128});
    const torch::Tensor loss = torch::cross_entropy_loss(net->forward(x), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    std::cout << "epoch " << epoch << ": loss " << loss.item<float>() << "\n";
  }
}
