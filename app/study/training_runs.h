#pragma once

// Studies that train: what they have in common.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "study/study.h"
#include "train/trained.h"

namespace samplenorm::study {

/// The recipe by the study's scale and data set: at full scale the paper's, for CIFAR or ImageNet; with what the
/// options change, which comes after what the study itself has to `adjust`.
train::Recipe base_recipe(const StudyOptions& options, const std::function<void(train::Recipe&)>& adjust = {});

/// The seeds by the study's scale: five for the paper's CIFAR runs, one for ImageNet, three for the others.
std::vector<int64_t> seeds_of(const StudyOptions& options);

/// The options' norms, or else these.
std::vector<std::string> norms_or(const StudyOptions& options, std::vector<std::string> usual);

/// What a record says of a run before it is done.
nlohmann::json run_fields(const train::Recipe& recipe);

/// Trains in the folder, or goes on with what is there. Gives a record's fields: docs/studies-format.md. A run that
/// diverges is a result too. Throws StopAsked.
nlohmann::json train_run(Study& study, const train::Recipe& recipe, const std::filesystem::path& folder);

/// A run with norms of the study's own, and the network that came out of it.
struct TrainedRun {
  std::shared_ptr<train::Trainee> trainee;
  record::RunMetrics metrics;

  /// Of all its epochs.
  double seconds() const;
};
/// Trains in the folder, or goes on with what is there. Throws StopAsked, and Diverged.
TrainedRun train_with(Study& study, const train::Recipe& recipe, const data::DataSet& set,
                      const std::filesystem::path& folder, const models::MakeNorm& make_norm);

/// What a task's record says if `make` throws Diverged: `fields`, and why it failed.
nlohmann::json or_failed(nlohmann::json fields, const std::function<nlohmann::json()>& make);

/// A run of a norm at its own learning rate.
struct TunedRun {
  std::string name;      ///< of what is trained, without rate and seed: "BN"
  train::Recipe recipe;  ///< but for rate and seed
  int64_t first_turn;    ///< of the tasks of the first seed; that of the next seeds counts up
  /// Of a run that is done, what its record has to say beyond train_run()'s.
  std::function<void(nlohmann::json& fields)> add_fields = [](nlohmann::json&) {};
};

/// Tasks for runs with each seed. What rate is fair to all norms is not one rate: at the standard scale the first seed
/// is run at the recipe's rate and at a quarter of it, and the better of the two (by accuracy on the test images) is
/// the norm's own, at which the other seeds are run. At other scales all are run at the recipe's rate.
std::vector<Study::Task> tuned_tasks(Study& study, const std::vector<TunedRun>& runs);

/// The part of the points in the statistics as the paper counts it: virtual rows as rows of the batch. 1 for norms that
/// do not sample.
double nominal_sampled(const std::string& norm);

/// "44.80 % (recalibrated 45.10 %)", or why it failed.
std::string outcome(const nlohmann::json& fields);

}  // namespace samplenorm::study
