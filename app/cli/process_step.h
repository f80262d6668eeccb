#pragma once

// A training step that several processes take together, with one norm and one way to its statistics.

#include <memory>
#include <string>

#include "bench/network_contenders.h"
#include "samplenorm/communicator.h"
#include "samplenorm/virtual_batch.h"
#include "train/gradient_buckets.h"
#include "train/sgd.h"

namespace samplenorm::cli {

class ProcessStep {
 public:
  /// All processes make the same ones in the same order, each with images of its own. `sync`: statistics are pooled.
  ProcessStep(const bench::StepCase& step, const std::string& norm, bool sync, Communicator& processes);
  ~ProcessStep();
  ProcessStep(const ProcessStep&) = delete;
  ProcessStep& operator=(const ProcessStep&) = delete;

  /// Forward, backward, the mean of the gradients, and the update, at rate 0. Returns the loss of this process.
  double run();

  /// What the last run asked of the network, on this process.
  struct StepTraffic {
    Traffic forward;
    Traffic backward;
    Traffic gradients;
  };
  const StepTraffic& traffic() const { return traffic_; }

 private:
  std::string name_;  // of the communicator
  std::shared_ptr<Communicator> communicator_;
  bench::StepCase step_;
  std::shared_ptr<models::Network> network_;
  VirtualBatch virtual_batch_{nullptr};
  train::Sgd optimizer_;
  train::GradientBuckets buckets_;
  StepTraffic traffic_;
};

}  // namespace samplenorm::cli
