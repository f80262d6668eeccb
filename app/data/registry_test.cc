#include <cstdlib>
#include <optional>

#include "data/source.h"
#include "data/testing.h"
#include "data/verify.h"

namespace samplenorm::data {
namespace {

/// Sets a variable of the environment, or removes it, until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      setenv(name_, value->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

TEST(RegistryTest, EveryNameIsKnownAndAnUnknownOneIsAnswered) {
  EXPECT_EQ(data_set_names(), (std::vector<std::string>{"cifar10", "cifar100", "fashion-mnist", "synthetic"}));
  expect_error([] { open_data_set({.name = "cifar11"}); }, {"'cifar11'", "cifar10, cifar100", "folder"});
  expect_error([] { open_data_set({.name = "synthetic", .limit = -1}); }, {"0 or more, got -1"});
}

TEST(RegistryTest, TheEnvironmentSaysWhereDataAre) {
  const Variable data("SAMPLENORM_DATA", std::nullopt), home("HOME", "/home/me");
  {
    const Variable cache("XDG_CACHE_HOME", std::nullopt);
    EXPECT_EQ(default_folder("cifar10"), "/home/me/.cache/samplenorm/cifar10");
  }
  const Variable cache("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(default_folder("cifar10"), "/cache/samplenorm/cifar10");
  {
    const Variable relative("XDG_CACHE_HOME", "cache");
    EXPECT_EQ(default_folder("cifar10"), "/home/me/.cache/samplenorm/cifar10");
  }
  const Variable root("SAMPLENORM_DATA", "/data");
  EXPECT_EQ(default_folder("cifar10"), "/data/cifar10");
  EXPECT_EQ(folder_of(find_source("cifar10"), "/mine"), "/mine");
  EXPECT_EQ(folder_of(find_source("cifar10"), ""), "/data/cifar10");
  EXPECT_EQ(folder_of(find_source("fashion-mnist"), ""), "/usr/share/datasets/fashion-mnist");
}

TEST(RegistryTest, NoHomeIsAnError) {
  const Variable data("SAMPLENORM_DATA", std::nullopt), cache("XDG_CACHE_HOME", std::nullopt),
      home("HOME", std::nullopt);
  expect_error([] { default_folder("cifar10"); }, {"SAMPLENORM_DATA"});
}

TEST(RegistryTest, ALimitTakesImagesEvenlySpread) {
  const DataSet all = open_data_set({.name = "synthetic"});
  const DataSet some = open_data_set({.name = "synthetic", .limit = 100});
  ASSERT_EQ(some.train->size(), 100);
  EXPECT_EQ(some.test->size(), all.test->size());
  for (int64_t i = 0; i < 100; ++i) {
    const int64_t whole = i * all.train->size() / 100;
    EXPECT_EQ(some.train->label(i), all.train->label(whole));
    EXPECT_EQ(some.train->image(i, 0)->bytes, all.train->image(whole, 0)->bytes);
  }
  EXPECT_EQ(open_data_set({.name = "synthetic", .limit = 1 << 20}).train->size(), all.train->size());
}

TEST(RegistryTest, SyntheticImagesAreTheSameEverywhere) {
  EXPECT_EQ(verify_data_set({.name = "synthetic"}).size(), 2u);
  EXPECT_FALSE(find_source("synthetic").train.sha256.empty()) << "nothing was compared";
}

}  // namespace
}  // namespace samplenorm::data
