#pragma once

// What the processes of a run tell each other beside gradients and statistics. Every rank makes the same calls.

#include <torch/nn/module.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "samplenorm/communicator.h"
#include "train/sgd.h"
#include "train/state.h"

namespace samplenorm::train {

/// While it lives, layers find the communicator by its name.
class RegisteredCommunicator {
 public:
  explicit RegisteredCommunicator(const std::shared_ptr<Communicator>& communicator);
  ~RegisteredCommunicator();
  RegisteredCommunicator(const RegisteredCommunicator&) = delete;
  RegisteredCommunicator& operator=(const RegisteredCommunicator&) = delete;

  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// What a step sums up over the processes, in one call: figures of the whole batch, and wishes.
struct StepSums {
  double loss = 0;  ///< over images
  double images = 0;
  double right = 0;    ///< images put into the right class
  double skipped = 0;  ///< images that could not be read
  double stop = 0;     ///< processes that were asked to stop
  double save = 0;     ///< processes that want a checkpoint
};
StepSums sum_over(Communicator& communicator, const StepSums& own);
/// What one sum_over() takes.
constexpr Traffic kStepSumsTraffic{1, sizeof(StepSums)};

/// The root's text, on every rank.
std::string broadcast_text(Communicator& communicator, const std::string& text, int root = 0);
/// Rank 0's value of a plain type, on every rank.
template <class T>
void broadcast_value(Communicator& communicator, T& value) {
  communicator.broadcast(std::as_writable_bytes(std::span(&value, 1)), 0);
}
/// Rank 0's network, momentum and sums, on every rank.
void broadcast_state(Communicator& communicator, const torch::nn::Module& network, const Sgd& optimizer,
                     EpochSums& sums);

/// The text of the lowest rank that has one, on every rank; nothing if none has.
std::optional<std::string> first_of(Communicator& communicator, const std::optional<std::string>& own);

/// Running statistics become their means over the ranks. If they are the same already, they stay so to the last bit.
void average_running_statistics(Communicator& communicator, const torch::nn::Module& network);

/// The mean over the ranks.
Traffic mean_over(Communicator& communicator, const Traffic& own);

/// Throws Error, on every rank, that names those whose parameters are not rank 0's to the last bit.
void check_same_weights(Communicator& communicator, const torch::nn::Module& network);

}  // namespace samplenorm::train
