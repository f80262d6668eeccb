// Writes what outputs_test.py gives to torchvision's networks: weights, images and our outputs.

#include <torch/serialize.h>

#include <cstdlib>
#include <fstream>

#include "models/testing.h"

namespace samplenorm::models {
namespace {

TEST(Outputs, AreWrittenForPython) {
  const char *folder = std::getenv("SAMPLENORM_TEST_FOLDER"), *model = std::getenv("SAMPLENORM_TEST_MODEL");
  if (folder == nullptr || model == nullptr) GTEST_SKIP() << "outputs_test.py sets folder and model";
  auto network = testing::seeded_model(model, ModelOptions{.norm = "BN", .classes = 1000});
  network->to(torch::kFloat64);
  const torch::NoGradGuard no_gradients;
  // Weights and biases in the norms that make activations cut off at both ends.
  for (auto& parameter : network->named_parameters())
    if (parameter.value().dim() == 1) torch::nn::init::uniform_(parameter.value(), 0.5, 4);
  const auto x = testing::images(4, 64).to(torch::kFloat64);
  c10::Dict<std::string, torch::Tensor> file;
  file.insert("images", x);
  const auto write_state = [&](const std::string& prefix) {
    for (const auto& item : network->named_parameters()) file.insert(prefix + item.key(), item.value().clone());
    for (const auto& item : network->named_buffers()) file.insert(prefix + item.key(), item.value().clone());
  };
  write_state("before.");
  file.insert("training", network->forward(x));
  write_state("after.");
  network->eval();
  file.insert("evaluation", network->forward(x));
  const auto bytes = torch::pickle_save(file);
  std::ofstream(std::string(folder) + "/outputs.pt", std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace
}  // namespace samplenorm::models
