#include "record/output_file.h"

#include "record/test_folder.h"

namespace samplenorm::record {
namespace {

using OutputFileTest = TestFolder;
using AtomicFileTest = TestFolder;

TEST_F(OutputFileTest, AppendsToWhatIsThere) {
  OutputFile(folder_ / "a", OutputFile::Mode::kAppend).write("one");
  OutputFile(folder_ / "a", OutputFile::Mode::kAppend).write("two");
  EXPECT_EQ(content_of(folder_ / "a"), "onetwo");
}

TEST_F(OutputFileTest, NewDoesNotTakeAnExistingFile) {
  write_content(folder_ / "a", "old");
  expect_error([&] { OutputFile(folder_ / "a", OutputFile::Mode::kNew); }, {(folder_ / "a").string(), "exists"});
  EXPECT_EQ(content_of(folder_ / "a"), "old");
}

TEST_F(OutputFileTest, SaysThatADeviceIsFull) {
  OutputFile full("/dev/full", OutputFile::Mode::kAppend);
  expect_error([&] { full.write("x"); }, {"/dev/full", "No space left on device"});
}

TEST_F(AtomicFileTest, IsNotThereBeforeItIsCommitted) {
  const auto path = folder_ / "a";
  write_content(path, "old");
  AtomicFile file(path);
  file.write("new");
  EXPECT_EQ(content_of(path), "old");
  EXPECT_EQ(content_of(folder_ / "a.part"), "new");
  file.commit();
  EXPECT_EQ(content_of(path), "new");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.part"));
}

TEST_F(AtomicFileTest, LeavesNothingBehindWhenItIsGivenUp) {
  { AtomicFile(folder_ / "a").write("new"); }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(AtomicFileTest, TakesThePlaceOfALeftover) {
  write_content(folder_ / "a.part", "of a killed run");
  AtomicFile file(folder_ / "a");
  file.write("new");
  file.commit();
  EXPECT_EQ(content_of(folder_ / "a"), "new");
}

TEST_F(AtomicFileTest, AFullDiskLeavesTheOldFile) {
  const auto path = folder_ / "a";
  write_content(path, "old");
  {
    const FullDisk disk(1000);
    expect_error(
        [&] {
          AtomicFile file(path);
          file.write(std::string(2000, 'x'));
          file.commit();
        },
        {"cannot write", path.string()});
  }
  EXPECT_EQ(content_of(path), "old");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.part"));
}

TEST_F(AtomicFileTest, NamesAFolderThatIsMissing) {
  expect_error([&] { AtomicFile(folder_ / "none" / "a"); }, {(folder_ / "none").string(), "No such file"});
}

}  // namespace
}  // namespace samplenorm::record
