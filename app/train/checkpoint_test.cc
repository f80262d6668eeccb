#include "train/checkpoint.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "record/test_folder.h"

namespace samplenorm::train {
namespace {

using record::content_of;
using record::expect_error;
using record::write_content;

/// A convolution, a norm and its momentum, as a run would save them.
Checkpoint some_checkpoint(int64_t epoch, int64_t step) {
  torch::nn::Sequential net(torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 2, 3).bias(false)),
                            torch::nn::BatchNorm2d(2));
  Checkpoint checkpoint{.tensors = {},
                        .model = "two_layers",
                        .recipe = R"({"rate": 0.1, "note": "a \"word\""})",
                        .epoch = epoch,
                        .step = step};
  for (const auto& item : net->named_parameters()) checkpoint.tensors.emplace_back(item.key(), item.value());
  for (const auto& item : net->named_buffers()) checkpoint.tensors.emplace_back(item.key(), item.value());
  checkpoint.tensors.emplace_back("optimizer.0.weight.momentum_buffer", torch::randn({2, 3, 3, 3}));
  return checkpoint;
}

void expect_same(const Checkpoint& found, const Checkpoint& expected) {
  EXPECT_EQ(found.model, expected.model);
  EXPECT_EQ(found.recipe, expected.recipe);
  EXPECT_EQ(found.epoch, expected.epoch);
  EXPECT_EQ(found.step, expected.step);
  ASSERT_EQ(found.tensors.size(), expected.tensors.size());
  for (size_t i = 0; i < found.tensors.size(); ++i) {
    EXPECT_EQ(found.tensors[i].first, expected.tensors[i].first);
    EXPECT_TRUE(torch::equal(found.tensors[i].second, expected.tensors[i].second)) << found.tensors[i].first;
  }
}

class CheckpointTest : public record::TestFolder {
 protected:
  std::filesystem::path file() const { return folder_ / "some.safetensors"; }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& path : CheckpointFolder(folder_).files()) all.push_back(path.filename().string());
    return all;
  }
  static void damage(const std::filesystem::path& path) {
    std::string content = content_of(path);
    content.back() ^= 1;
    write_content(path, content);
  }
};

// app/train/safetensors_test.py loads this file into the same network of Python.
TEST_F(CheckpointTest, ComesBackAsItWasWritten) {
  const Checkpoint checkpoint = some_checkpoint(3, 141);
  write_checkpoint(file(), checkpoint);
  expect_same(read_checkpoint(file()), checkpoint);
}

TEST_F(CheckpointTest, EveryBitOfAFileIsGuarded) {
  write_checkpoint(file(), some_checkpoint(3, 141));
  const std::string whole = content_of(file());
  for (size_t place = 0; place < whole.size(); ++place) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[place] = static_cast<char>(damaged[place] ^ 1 << bit);
      write_content(file(), damaged);
      expect_error([&] { read_checkpoint(file()); }, {file().string()});
      ASSERT_FALSE(HasFailure()) << "byte " << place << ", bit " << bit;
    }
  }
}

TEST_F(CheckpointTest, SaysWhatIsNotACheckpoint) {
  write_safetensors(file(), {{{"x", torch::ones({1})}}, {}});
  expect_error([&] { read_checkpoint(file()); }, {file().string(), "a checkpoint of samplenorm", "format_version"});
  write_safetensors(file(), {{}, {{"format_version", "2"}}});
  expect_error([&] { read_checkpoint(file()); }, {file().string(), "format 1", "'2'"});
}

TEST_F(CheckpointTest, AFolderKeepsTheLastTwo) {
  CheckpointFolder folder(folder_ / "run");
  for (int64_t epoch = 8; epoch < 12; ++epoch) folder.save(some_checkpoint(epoch, 0));
  const auto saved = folder.save(some_checkpoint(11, 5));
  EXPECT_EQ(saved.filename(), "checkpoint-00011-00000005.safetensors");
  EXPECT_EQ(folder.files(),
            (std::vector<std::filesystem::path>{folder_ / "run/checkpoint-00011-00000000.safetensors", saved}));
  expect_same(*folder.newest([](const std::string& warning) { ADD_FAILURE() << warning; }), read_checkpoint(saved));
}

TEST_F(CheckpointTest, OrderIsByNumber) {
  const CheckpointFolder folder(folder_);
  write_checkpoint(folder_ / "checkpoint-99999-00000000.safetensors", some_checkpoint(99999, 0));
  write_checkpoint(folder_ / "checkpoint-100000-00000000.safetensors", some_checkpoint(100000, 0));
  EXPECT_EQ(folder.newest([](const std::string&) {})->epoch, 100000);
}

TEST_F(CheckpointTest, TheOneBeforeIsUsedWhenTheNewestIsDamaged) {
  CheckpointFolder folder(folder_);
  folder.save(some_checkpoint(1, 0));
  const auto newest = folder.save(some_checkpoint(2, 0));
  damage(newest);
  std::vector<std::string> warnings;
  const auto found = folder.newest([&](const std::string& warning) { warnings.push_back(warning); });
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->epoch, 1);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find(newest.string()), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("the one before it is used"), std::string::npos) << warnings[0];
}

/// A file with one tensor of this shape, and as many bytes for it. Bytes that are not written take no space.
void write_with_shape(const std::filesystem::path& path, const std::string& shape, uint64_t bytes) {
  const std::string header = fmt::format(R"({{"x":{{"dtype":"U8","shape":{},"data_offsets":[0,{}]}}}})", shape, bytes);
  const uint64_t length = header.size();
  write_content(path, std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header);
  std::filesystem::resize_file(path, sizeof(length) + length + bytes);
}

TEST_F(CheckpointTest, TheOneBeforeIsUsedWhateverADamagedOneThrows) {
  CheckpointFolder folder(folder_);
  folder.save(some_checkpoint(1, 0));
  const auto newest = folder_ / "checkpoint-00002-00000000.safetensors";
  // More elements than libtorch can count, and more bytes than there is memory.
  const std::vector<std::pair<std::string, uint64_t>> damaged = {{"[0,4611686018427387903,4611686018427387903]", 0},
                                                                 {"[8796093022208]", uint64_t{1} << 43}};
  for (const auto& [shape, bytes] : damaged) {
    write_with_shape(newest, shape, bytes);
    std::vector<std::string> warnings;
    const auto found = folder.newest([&](const std::string& warning) { warnings.push_back(warning); });
    ASSERT_TRUE(found.has_value()) << shape;
    EXPECT_EQ(found->epoch, 1);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find(newest.string()), std::string::npos) << warnings[0];
    EXPECT_NE(warnings[0].find("the one before it is used"), std::string::npos) << warnings[0];
    EXPECT_EQ(warnings[0].find('\n'), std::string::npos) << warnings[0];
  }
}

TEST_F(CheckpointTest, ADamagedOneDoesNotPushOutAWholeOne) {
  CheckpointFolder folder(folder_);
  folder.save(some_checkpoint(1, 0));
  damage(folder.save(some_checkpoint(2, 0)));
  folder.save(some_checkpoint(1, 7));  // the run was resumed from the first
  EXPECT_EQ(names(), (std::vector<std::string>{"checkpoint-00001-00000000.safetensors",
                                               "checkpoint-00001-00000007.safetensors"}));
}

TEST_F(CheckpointTest, NothingIsFoundWhereNothingIsWhole) {
  CheckpointFolder folder(folder_ / "run");
  int warnings = 0;
  const auto count = [&](const std::string&) { ++warnings; };
  EXPECT_FALSE(folder.newest(count).has_value());
  EXPECT_EQ(warnings, 0);
  damage(folder.save(some_checkpoint(1, 0)));
  EXPECT_FALSE(folder.newest(count).has_value());
  EXPECT_EQ(warnings, 1);
}

TEST_F(CheckpointTest, LeftoversAreIgnoredAndCleanedUp) {
  CheckpointFolder folder(folder_);
  const auto leftover = folder_ / "checkpoint-00009-00000000.safetensors.part";
  write_content(leftover, "cut o");
  write_content(folder_ / "checkpoint-notes.txt", "mine");
  EXPECT_TRUE(folder.files().empty());
  EXPECT_TRUE(std::filesystem::exists(leftover));  // looking is not touching: another process may be writing it
  folder.save(some_checkpoint(1, 0));
  EXPECT_FALSE(std::filesystem::exists(leftover));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "checkpoint-notes.txt"));
}

TEST_F(CheckpointTest, AFullDiskLeavesTheEarlierOnes) {
  CheckpointFolder folder(folder_);
  folder.save(some_checkpoint(1, 0));
  folder.save(some_checkpoint(2, 0));
  const auto before = names();
  {
    const record::FullDisk disk(500);
    expect_error([&] { folder.save(some_checkpoint(3, 0)); }, {"cannot write", "checkpoint-00003-00000000"});
  }
  EXPECT_EQ(names(), before);
  EXPECT_EQ(folder.newest([](const std::string& warning) { ADD_FAILURE() << warning; })->epoch, 2);
}

}  // namespace
}  // namespace samplenorm::train
