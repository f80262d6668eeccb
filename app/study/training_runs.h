#pragma once

// Studies that train: what they have in common. Runs live in FOLDER/runs, named by what decides them, so that studies
// share them, and one that was stopped is resumed.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "study/study.h"

namespace samplenorm::study {

/// The recipe by the study's scale and data set: at full scale the paper's, for CIFAR or ImageNet; with what the
/// options change, which comes behind what the study itself has to `adjust`.
train::Recipe base_recipe(const StudyOptions& options, const std::function<void(train::Recipe&)>& adjust = {});

/// The seeds by the study's scale: five for the paper's CIFAR runs, one for ImageNet, three for quick ones.
std::vector<int64_t> seeds_of(const StudyOptions& options);

/// The options' norms, or else these.
std::vector<std::string> norms_or(const StudyOptions& options, std::vector<std::string> usual);

/// What a record says of a run before it is done.
nlohmann::json run_fields(const train::Recipe& recipe);

/// Trains, or goes on, unless the run is finished. Gives a record's fields: docs/studies-format.md. A loss that is not
/// finite is a result too. Throws StopAsked.
nlohmann::json train_run(Study& study, const train::Recipe& recipe);

/// Where the run of a recipe is.
std::filesystem::path run_folder(const StudyOptions& options, const train::Recipe& recipe);

/// The part of the points in the statistics as the paper counts it: virtual rows as rows of the batch. 1 for norms that
/// do not sample.
double nominal_sampled(const std::string& norm);

/// "44.80 % (recalibrated 45.10 %)", or why it failed.
std::string outcome(const nlohmann::json& fields);

}  // namespace samplenorm::study
