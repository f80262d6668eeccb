#pragma once

// Statistics of a few points are noise. A model whose samples have fewer than 32 points a channel somewhere says so
// once.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "nn/plan.h"

namespace samplenorm {

/// Points a channel of the chunk with the fewest points, of those that are not taken whole; nothing where all chunks
/// are. With Sync the other processes are taken to have as many points as this one.
std::optional<int64_t> fewest_points(const Plan& plan, int64_t processes);

/// Shared by the layers of a model. Each reports the points of its sample in its first training forward. When all have
/// reported, or one comes for the second time, there is one warning if there are too few points in some layer.
class PointsWatch {
 public:
  explicit PointsWatch(size_t layers) : layers_(layers) {}

  /// `points` are those of fewest_points(). Whether nothing more is to be reported.
  bool report(const std::string& layer, const std::string& spec, std::optional<int64_t> points);

 private:
  void warn() const;

  struct Report {
    std::string spec;
    std::optional<int64_t> points;
  };
  const size_t layers_;
  std::mutex mutex_;
  std::map<std::string, Report> reports_;
  bool done_ = false;
};

/// One layer's name in the model, and the model's watch. At first a layer belongs to no model that has one.
struct FewPoints {
  std::string layer;
  std::shared_ptr<PointsWatch> watch = std::make_shared<PointsWatch>(1);
};

}  // namespace samplenorm
