#pragma once

// For tests: a folder that lives as long as the test, and what a full disk does.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "samplenorm/error.h"

namespace samplenorm::record {

/// With SAMPLENORM_TEST_FOLDER set, that folder is used and kept, for another program to read what the test wrote.
class TestFolder : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* given = std::getenv("SAMPLENORM_TEST_FOLDER")) {
      folder_ = given;
      kept_ = true;
      return;
    }
    std::string name = testing::TempDir() + "samplenorm_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!kept_) std::filesystem::remove_all(folder_);
  }

  std::filesystem::path folder_;

 private:
  bool kept_ = false;
};

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream.good()) << file;
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_content(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

/// What `action` throws, which must be an Error of one line that has every one of `parts`.
template <class Action>
void expect_error(const Action& action, const std::vector<std::string>& parts) {
  try {
    action();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const auto& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

/// While it lives, files cannot grow beyond `bytes`: a write is cut short, then fails, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_;
};

}  // namespace samplenorm::record
