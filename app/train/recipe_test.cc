#include "train/recipe.h"

#include <gtest/gtest.h>

#include <fstream>

#include "samplenorm/error.h"

namespace samplenorm::train {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Recipe, CifarIsThePapers) {
  const Recipe recipe = find_recipe("cifar");
  EXPECT_EQ(recipe.batch, 128);
  EXPECT_EQ(recipe.weight_decay, 2e-4);
  EXPECT_EQ(recipe.epochs, 130);
  EXPECT_EQ(recipe.rate, 0.1);
  EXPECT_EQ(recipe.schedule, "steps");
  EXPECT_EQ(recipe.milestones, (std::vector<int64_t>{50, 80, 110}));
  EXPECT_EQ(recipe.warm_up, 0);
}

TEST(Recipe, ImagenetIsThePapers) {
  const Recipe recipe = find_recipe("imagenet");
  EXPECT_EQ(recipe.weight_decay, 1e-4);
  EXPECT_EQ(recipe.epochs, 100);
  EXPECT_EQ(recipe.rate, 0.1);
  EXPECT_EQ(recipe.rate_batch, 256);
  EXPECT_EQ(recipe.milestones, (std::vector<int64_t>{30, 60, 80, 90}));
}

TEST(Recipe, EveryFieldSurvivesTextAndJson) {
  for (const std::string& name : recipe_names()) {
    const Recipe recipe = find_recipe(name);
    Recipe from_text;
    for (const RecipeField& field : recipe_fields())
      set_field(from_text, field.name, field_text(recipe, field), "a test");
    EXPECT_EQ(from_text, recipe) << name;
    EXPECT_EQ(recipe_from_json(to_json(recipe), "a test"), recipe) << name;
    EXPECT_EQ(recipe_from_json(R"({"command": "x", "recipe": )" + to_json(recipe) + "}", "a test"), recipe) << name;
  }
}

TEST(Recipe, FileStartsFromTheRecipeThatItNames) {
  const std::string path = testing::TempDir() + "short.json";
  std::ofstream(path) << R"({"recipe": "cifar", "epochs": 2, "milestones": [1], "nesterov": true, "norm": "BN"})";
  const Recipe recipe = find_recipe(path);
  EXPECT_EQ(recipe.weight_decay, 2e-4);
  EXPECT_EQ(recipe.epochs, 2);
  EXPECT_EQ(recipe.milestones, std::vector<int64_t>{1});
  EXPECT_TRUE(recipe.nesterov);
  EXPECT_EQ(recipe.norm, "BN");
}

TEST(Recipe, UnknownKeyIsAnErrorThatNamesTheNearest) {
  Recipe recipe;
  EXPECT_EQ(message_of([&] { set_field(recipe, "weightdecay", "1", "--set"); }),
            "--set: a recipe has no field 'weightdecay'; the nearest is 'weight_decay'");
  EXPECT_EQ(message_of([&] { recipe_from_json(R"({"epoch": 3})", "a.json"); }),
            "a.json: a recipe has no field 'epoch'; the nearest is 'epochs'");
  EXPECT_EQ(message_of([&] { find_recipe("cifra"); }),
            "there is no recipe 'cifra'; the nearest is 'cifar', and a file's name ends in .json");
}

TEST(Recipe, WrongValuesAreErrorsThatSayWhatIsRight) {
  struct Case {
    const char *key, *value, *expectation;
  };
  for (const Case& wrong : {Case{"epochs", "0", "a whole number of at least 1"},
                            {"epochs", "2.5", "a whole number"},
                            {"epochs", "", "a whole number"},
                            {"rate", "-1", "a number of at least 0"},
                            {"rate", "nan", "a number of at least 0"},
                            {"warm_up", "1.5", "at most 1"},
                            {"nesterov", "yes", "true or false"},
                            {"milestones", "80,50", "ascending epochs"},
                            {"schedule", "linear", "one of steps, one-cycle, cosine"},
                            {"norm", "", "not empty"},
                            {"precision", "float16", "one of float32, bfloat16"}}) {
    Recipe recipe;
    const auto message = message_of([&] { set_field(recipe, wrong.key, wrong.value, "--set"); });
    EXPECT_NE(message.find(wrong.expectation), std::string::npos) << wrong.key << "=" << wrong.value << ": " << message;
  }
}

TEST(Recipe, BrokenFilesAreNamed) {
  EXPECT_NE(message_of([] { recipe_from_json("{\"epochs\": ", "a.json"); }).find("a.json is not JSON"),
            std::string::npos);
  EXPECT_NE(message_of([] { recipe_from_json("[1]", "a.json"); }).find("should be a JSON object"), std::string::npos);
  EXPECT_NE(message_of([] { recipe_from_json(R"({"epochs": {}})", "a.json"); }).find("'epochs'"), std::string::npos);
  EXPECT_EQ(message_of([] { find_recipe("not/there.json"); }), "cannot read the recipe not/there.json");
}

TEST(Recipe, OnlyWhatDecidesTheWeightsHindersResuming) {
  const Recipe there;
  Recipe here = there;
  here.workers = 7;
  here.recalibrate = 3;
  here.checkpoint_every = 5;
  EXPECT_EQ(difference(there, here), std::nullopt);
  here.norm = "BN";
  EXPECT_EQ(difference(there, here), "norm is 'LS-1/64' there and 'BN' here");
}

TEST(Recipe, StatisticBatchGoesIntoTheNotation) {
  Recipe recipe;
  recipe.norm = "FS-1/64+VDN-2/128";
  EXPECT_EQ(full_notation(recipe), "FS-1/64+VDN-2/128");
  recipe.stat_batch = 4;
  EXPECT_EQ(full_notation(recipe), "FS-1/64+VDN-2/128;stat_batch=4");
  recipe.norm = "GN-32";
  EXPECT_THROW(full_notation(recipe), Error);
}

TEST(Recipe, SyncGoesWithASamplingMethodAndNotWithAStatisticBatch) {
  Recipe recipe;
  recipe.sync = true;
  recipe.norm = "FS-1/64";
  EXPECT_EQ(full_notation(recipe), "FS-1/64");
  recipe.stat_batch = 4;
  EXPECT_THROW(full_notation(recipe), Error);
  recipe.stat_batch = 0;
  for (const std::string norm : {"FS-1/64;stat_batch=4", "torch", "L1BN"}) {
    recipe.norm = norm;
    EXPECT_THROW(full_notation(recipe), Error) << norm;
  }
}

}  // namespace
}  // namespace samplenorm::train
