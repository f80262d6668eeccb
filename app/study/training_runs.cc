#include "study/training_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "record/folder_lock.h"
#include "record/metrics_line.h"
#include "record/own_rate.h"
#include "record/run_folder.h"
#include "samplenorm/error.h"
#include "samplenorm/notation.h"
#include "study/loss_curve.h"

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

/// The cheapest one found in which BN reaches 88 % (docs/training.md).
Recipe standard_recipe() {
  Recipe recipe;
  recipe.model = "resnet20";
  recipe.epochs = 12;
  recipe.rate = 0.2;
  recipe.nesterov = true;
  recipe.warm_up = 0.2;
  recipe.checkpoint_seconds = 60;
  return recipe;
}

Recipe recipe_of(Scale scale, bool photographs) {
  if (scale == Scale::kQuick) return quick_recipe();
  if (scale == Scale::kStandard) return standard_recipe();
  Recipe recipe = train::find_recipe(photographs ? "imagenet" : "cifar");
  if (!photographs) recipe.model = "resnet56";
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

  int64_t total() const { return total_; }

 private:
  Watcher& watcher_;
  int64_t total_ = 0;
};

json optional_number(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json figures_of(const TrainedRun& trained) {
  const auto& run = trained.metrics;
  const auto& last = run.epochs.back();
  json fields{{"top1", last.test_top1},
              {"top5", last.test_top5},
              {"recalibrated_top1", optional_number(last.recalibrated_top1)},
              {"train_loss", last.train_loss},
              {"seconds", trained.seconds()},
              {"epoch_top1", json::array()},
              {"history", json::array()}};
  for (const auto& epoch : run.epochs) {
    fields["epoch_top1"].push_back(epoch.test_top1);
    fields["history"].push_back(json::parse(record::to_line(epoch)));
  }
  std::vector<double> losses;
  for (const auto& step : run.steps) losses.push_back(step.loss);
  fields.update(loss_curve(losses));
  return fields;
}

}  // namespace

Recipe base_recipe(const StudyOptions& options, const std::function<void(Recipe&)>& adjust) {
  Recipe recipe = recipe_of(options.scale, options.data == "folder");
  if (adjust) adjust(recipe);
  recipe.data = options.data;
  recipe.data_folder = options.data_folder;
  recipe.recalibrate = kRecalibrationBatches;
  if (!options.models.empty()) recipe.model = options.models.front();
  for (const auto& [key, value] : options.recipe) train::set_field(recipe, key, value, "--set");
  return recipe;
}

std::vector<int64_t> seeds_of(const StudyOptions& options) {
  const int64_t usual = options.scale != Scale::kFull ? 3 : options.data == "folder" ? 1 : 5;
  std::vector<int64_t> seeds;
  for (int64_t seed = 1; seed <= (options.seeds > 0 ? options.seeds : usual); ++seed) seeds.push_back(seed);
  return seeds;
}

std::vector<std::string> norms_or(const StudyOptions& options, std::vector<std::string> usual) {
  return options.norms.empty() ? std::move(usual) : options.norms;
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

double TrainedRun::seconds() const {
  double seconds = 0;
  for (const auto& epoch : metrics.epochs) seconds += epoch.seconds;
  return seconds;
}

TrainedRun train_with(Study& study, const Recipe& recipe, const data::DataSet& set, const std::filesystem::path& folder,
                      const models::MakeNorm& make_norm) {
  train::TrainerOptions trainer;
  trainer.recipe = recipe;
  trainer.folder = folder;
  trainer.resume = true;
  trainer.description = study.options().description.dump();
  trainer.stop_asked = study.options().stop_asked;
  trainer.make_norm = make_norm;
  RunListener listener(study.watcher());
  if (train::train(trainer, set, listener).stopped) throw StopAsked();
  TrainedRun run{train::trained(trainer, set), record::read_metrics(folder)};
  if (std::ssize(run.metrics.steps) == listener.total()) return run;
  study.watcher().on_warning(
      fmt::format("{}: the record of the run is not whole, and it is trained anew", folder.string()));
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename() != record::kLockFile) std::filesystem::remove_all(entry.path());
  return train_with(study, recipe, set, folder, make_norm);
}

json or_failed(json fields, const std::function<json()>& make) {
  try {
    return make();
  } catch (const train::Diverged& error) {
    fields["failed"] = error.what();
    return fields;
  }
}

json train_run(Study& study, const Recipe& recipe, const std::filesystem::path& folder) {
  const auto set = train::open_data(recipe);
  json fields = run_fields(recipe);
  fields["images"] = set.train->size();
  return or_failed(fields, [&] {
    json whole = fields;
    whole.update(figures_of(train_with(study, recipe, set, folder, {})));
    return whole;
  });
}

namespace {

constexpr double kLowerRate = 0.25;  // of the recipe's

Study::Task run_task(Study& study, const std::string& id, const TunedRun& run, const Recipe& recipe) {
  return {.id = id, .make = [&study, id, run, recipe] {
            auto fields = train_run(study, recipe, study.work_folder(id));
            run.add_fields(fields);
            study.watcher().on_result(outcome(fields));
            return fields;
          }};
}

/// Both rates for the first seed; for the others the better one, when it is known.
std::vector<Study::Task> tasks_of_seed(Study& study, const TunedRun& run, int64_t seed, int64_t first_seed) {
  Recipe recipe = run.recipe;
  recipe.seed = seed;
  const std::string plain_id = fmt::format("{}, seed {}", run.name, seed);
  if (study.options().scale != Scale::kStandard) return {run_task(study, plain_id, run, recipe)};
  const std::array rates{recipe.rate, recipe.rate * kLowerRate};
  const auto id_at = [&](double rate) { return fmt::format("{}, rate {}, seed {}", run.name, rate, first_seed); };
  std::vector<Study::Task> tasks;
  if (seed == first_seed) {
    for (const double rate : rates) {
      recipe.rate = rate;
      tasks.push_back(run_task(study, id_at(rate), run, recipe));
    }
    return tasks;
  }
  const std::array first_ids{id_at(rates[0]), id_at(rates[1])};
  Study::Task task{.id = plain_id, .make = [&study, plain_id, run, recipe, first_ids]() mutable {
                     std::vector<json> first;
                     for (const auto& id : first_ids) first.push_back(study.find(id).value());
                     recipe.rate = record::own_rate(first);
                     return run_task(study, plain_id, run, recipe).make();
                   }};
  task.ready = [&study, first_ids] { return study.find(first_ids[0]) && study.find(first_ids[1]); };
  tasks.push_back(std::move(task));
  return tasks;
}

}  // namespace

std::vector<Study::Task> tuned_tasks(Study& study, const std::vector<TunedRun>& runs) {
  const auto seeds = seeds_of(study.options());
  std::vector<Study::Task> tasks;
  for (const int64_t seed : seeds)
    for (const auto& run : runs)
      for (auto& task : tasks_of_seed(study, run, seed, seeds.front())) {
        task.turn = run.first_turn + seed - seeds.front();
        tasks.push_back(std::move(task));
      }
  // Seed by seed, so that a study that is stopped has all norms of the seeds that it has.
  std::stable_sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) { return a.turn < b.turn; });
  return tasks;
}

std::string outcome(const json& fields) {
  if (fields.contains("failed")) return "broke off: " + fields["failed"].get<std::string>();
  std::string text = fmt::format("top-1 {:.2f} %", 100 * fields["top1"].get<double>());
  if (!fields["recalibrated_top1"].is_null())
    text += fmt::format(" (recalibrated {:.2f} %)", 100 * fields["recalibrated_top1"].get<double>());
  return text;
}

}  // namespace samplenorm::study
