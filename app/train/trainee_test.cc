#include "train/trainee.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "data/synthetic.h"
#include "train/evaluation.h"

namespace samplenorm::train {
namespace {

Recipe recipe_with(const std::string& norm) {
  Recipe recipe;
  recipe.model = "small";
  recipe.norm = norm;
  recipe.batch = 32;
  recipe.seed = 7;
  return recipe;
}

/// Normalized with constants of another set, as a folder of photographs is.
data::DataSet foreign_set() {
  auto set = data::make_synthetic({.train = 320, .test = 16});
  set.framing = data::Framing::kResizedCrop;
  set.mean = {0.9, 0.1, 0.5};
  set.deviation = {0.1, 0.4, 0.2};
  set.own_statistics = false;
  return set;
}

/// The virtual rows (64, 3, 32, 32) of a fresh network's first step.
torch::Tensor virtual_rows_of(const Recipe& recipe, const data::DataSet& set) {
  const auto trainee = std::make_shared<Trainee>(recipe, set);
  data::Loader training(set, loader_options(recipe, true));
  trainee->add_virtual_rows(training);
  const auto module = trainee->named_modules()["virtual_batch"];
  return dynamic_cast<const VirtualBatchImpl&>(*module).virtual_rows(torch::empty({32, 3, 32, 32}), /*chunk=*/0);
}

std::pair<torch::Tensor, torch::Tensor> mean_and_deviation(const torch::Tensor& images) {
  return {images.mean({0, 2, 3}), images.transpose(0, 1).flatten(1).std(1)};
}

torch::Tensor inputs_of(const Recipe& recipe, const data::DataSet& set) {
  data::Loader training(set, loader_options(recipe, true));
  std::vector<torch::Tensor> batches;
  training.begin(0);
  while (const auto batch = training.next()) batches.push_back(batch->images);
  return torch::cat(batches);
}

TEST(Trainee, VirtualRowsHaveMeanAndDeviationOfTheInputs) {
  const auto set = foreign_set();
  for (const std::string norm : {"VDN-64/128", "FS-1/64+VDN-64/128", "VDN-64/128;field=spectrum"}) {
    const auto recipe = recipe_with(norm);
    const auto rows = virtual_rows_of(recipe, set);
    const auto [mean, deviation] = mean_and_deviation(rows);
    const auto [expected_mean, expected_deviation] = mean_and_deviation(inputs_of(recipe, set));
    // A field with the inputs' spectrum has few independent points.
    const double tolerance = norm.ends_with("spectrum") ? 0.4 : 0.02;
    EXPECT_TRUE(((mean - expected_mean).abs() < tolerance * expected_deviation).all().item<bool>())
        << norm << mean << expected_mean << expected_deviation;
    EXPECT_TRUE(((deviation / expected_deviation - 1).abs() < tolerance).all().item<bool>())
        << norm << deviation << expected_deviation;
    // The constants are far from the set's own, or this would show nothing.
    EXPECT_TRUE((expected_mean.abs() > 0.5 * expected_deviation).any().item<bool>()) << expected_mean;
  }
}

TEST(Trainee, VirtualRowsAreTheSameWhenMadeAnew) {
  const auto set = foreign_set();
  auto recipe = recipe_with("VDN-64/128");
  const auto rows = virtual_rows_of(recipe, set);
  EXPECT_TRUE(virtual_rows_of(recipe, set).equal(rows));
  recipe.workers = 3;
  EXPECT_TRUE(virtual_rows_of(recipe, set).equal(rows));
}

TEST(Trainee, VirtualRowsAreStandardWhereInputsAre) {
  const auto recipe = recipe_with("VDN-64/128");
  VirtualBatch expected(torch::zeros(3), torch::ones(3), 64);
  expected->key.seed = 7;
  const auto rows = virtual_rows_of(recipe, data::make_synthetic({.train = 320, .test = 16}));
  EXPECT_TRUE(rows.equal(expected->virtual_rows(torch::empty({32, 3, 32, 32}), 0)));
}

}  // namespace
}  // namespace samplenorm::train
