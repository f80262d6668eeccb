#include "study/training_runs.h"

#include <fmt/format.h>

#include <cctype>
#include <cstring>

#include "record/run_folder.h"
#include "samplenorm/error.h"
#include "samplenorm/notation.h"

namespace samplenorm::study {
namespace {

using nlohmann::json;
using train::Recipe;

/// Enough images for exact statistics: at the batch of 128, 2560.
constexpr int64_t kRecalibrationBatches = 20;

/// Minutes on two cores for a whole study. The rate is the one at which every method of the paper trains without jumps
/// (docs/training.md).
Recipe quick_recipe() {
  Recipe recipe;
  recipe.model = "resnet8";
  recipe.limit = 12800;
  recipe.epochs = 2;
  recipe.rate = 0.025;
  recipe.eval_every = recipe.epochs;
  return recipe;
}

/// Passes the news of a run on.
class RunListener : public train::Listener {
 public:
  explicit RunListener(Watcher& watcher) : watcher_(watcher) {}

  void on_begin(int64_t, int64_t total) override { total_ = total; }
  void on_step(const record::StepRecord& record) override {
    watcher_.on_progress(record.step + 1, total_, fmt::format("loss {:.3f}", record.loss));
  }
  void on_warning(const std::string& sentence) override { watcher_.on_warning(sentence); }

 private:
  Watcher& watcher_;
  int64_t total_ = 0;
};

json optional_number(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json figures_of(const std::vector<record::EpochRecord>& epochs) {
  const auto& last = epochs.back();
  double seconds = 0;
  for (const auto& epoch : epochs) seconds += epoch.seconds;
  return {{"top1", last.test_top1},
          {"top5", last.test_top5},
          {"recalibrated_top1", optional_number(last.recalibrated_top1)},
          {"train_loss", last.train_loss},
          {"seconds", seconds}};
}

}  // namespace

Recipe base_recipe(const StudyOptions& options, const std::function<void(Recipe&)>& adjust) {
  const bool photographs = options.data == "folder";
  Recipe recipe = !options.full ? quick_recipe() : train::find_recipe(photographs ? "imagenet" : "cifar");
  if (options.full && !photographs) recipe.model = "resnet56";
  if (adjust) adjust(recipe);
  recipe.data = options.data;
  recipe.data_folder = options.data_folder;
  recipe.recalibrate = kRecalibrationBatches;
  if (!options.models.empty()) recipe.model = options.models.front();
  for (const auto& [key, value] : options.recipe) train::set_field(recipe, key, value, "--set");
  return recipe;
}

std::vector<int64_t> seeds_of(const StudyOptions& options) {
  const int64_t usual = !options.full ? 3 : options.data == "folder" ? 1 : 5;
  std::vector<int64_t> seeds;
  for (int64_t seed = 1; seed <= (options.seeds > 0 ? options.seeds : usual); ++seed) seeds.push_back(seed);
  return seeds;
}

std::vector<std::string> norms_or(const StudyOptions& options, std::vector<std::string> usual) {
  return options.norms.empty() ? std::move(usual) : options.norms;
}

std::filesystem::path run_folder(const StudyOptions& options, const Recipe& recipe) {
  std::string name = fmt::format("{}-{}-{}x{}-batch{}-{}-seed{}", recipe.model, recipe.data, recipe.limit,
                                 recipe.epochs, recipe.batch, train::full_notation(recipe), recipe.seed);
  const auto is_safe = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("-+.=", c); };
  for (char& c : name)
    if (!is_safe(c)) c = '_';
  return options.folder / "runs" / name;
}

double nominal_sampled(const std::string& norm) {
  try {
    double sum = 0;
    for (const auto& method : parse(norm).methods) sum += method.ratio.value();
    return sum;
  } catch (const NotationError&) {
    return 1;
  }
}

json run_fields(const Recipe& recipe) {
  return {{"model", recipe.model},
          {"data", recipe.data},
          {"epochs", recipe.epochs},
          {"norm", recipe.norm},
          {"seed", recipe.seed},
          {"rate", recipe.rate},
          {"sampled", nominal_sampled(recipe.norm)}};
}

json train_run(Study& study, const Recipe& recipe) {
  json fields = run_fields(recipe);
  const auto set = train::open_data(recipe);
  fields["images"] = set.train->size();
  train::TrainerOptions trainer;
  trainer.recipe = recipe;
  trainer.folder = run_folder(study.options(), recipe);
  trainer.resume = true;
  trainer.description = study.options().description.is_null() ? "" : study.options().description.dump();
  trainer.stop_asked = study.options().stop_asked;
  RunListener listener(study.watcher());
  try {
    const auto result = train::train(trainer, set, listener);
    if (result.stopped) throw StopAsked();
    fields.update(figures_of(result.epochs));
  } catch (const train::NonFiniteLoss& error) {
    fields["failed"] = error.what();
  }
  return fields;
}

std::string outcome(const json& fields) {
  if (fields.contains("failed")) return "broke off: " + fields["failed"].get<std::string>();
  std::string text = fmt::format("top-1 {:.2f} %", 100 * fields["top1"].get<double>());
  if (!fields["recalibrated_top1"].is_null())
    text += fmt::format(" (recalibrated {:.2f} %)", 100 * fields["recalibrated_top1"].get<double>());
  return text;
}

}  // namespace samplenorm::study
