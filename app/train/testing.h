#pragma once

// For tests: processes played by threads.

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "samplenorm/communicator.h"

namespace samplenorm::train {

/// Runs `body` on so many threads at once, each with a communicator of its own.
inline void on_ranks(int ranks, const std::function<void(const std::shared_ptr<Communicator>&)>& body) {
  std::vector<std::thread> threads;
  for (const auto& communicator : thread_communicators(ranks)) {
    threads.emplace_back([&body, communicator] {
      try {
        body(communicator);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << communicator->rank() << ": " << error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace samplenorm::train
