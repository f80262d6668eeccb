#include <fmt/format.h>
#include <torch/torch.h>

#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/quartiles.h"
#include "bench/rounds.h"
#include "bench/stopwatch.h"
#include "bench/worker_model.h"
#include "cli/background.h"
#include "cli/commands.h"
#include "cli/json_file.h"
#include "cli/machine.h"
#include "cli/process_step.h"
#include "cli/processes.h"
#include "cli/text_table.h"
#include "samplenorm/error.h"
#include "samplenorm/notation.h"

namespace samplenorm::cli {
namespace {

struct ProcessOptions {
  std::string model = "resnet20";
  int64_t batch = 64;
  int64_t workers = 64;
  double latency_microseconds = 20;
  double gigabits = 10;
  bool quick = false;
  std::string json;

  bench::Wire wire() const { return {latency_microseconds * 1e-6, gigabits * 1e9 / 8}; }
};

struct Contest {
  const char* title;
  const char* norm;
  bool sync;
};
/// The first is what the others are compared with.
constexpr std::array kContests = {Contest{"Sync BN", "BN", true},
                                  Contest{"Sync LS-1/64", "LS-1/64", true},
                                  Contest{"Sync FS-1/64", "FS-1/64", true},
                                  Contest{"Sync BS-4/128, half of the processes", "BS-4/128;nodes=1/2", true},
                                  Contest{"Sync VDN-2/128, one process", "VDN-2/128;nodes=1", true},
                                  Contest{"Local VDN-2/128", "VDN-2/128", false},
                                  Contest{"Local BN", "BN", false},
                                  Contest{"GN-8", "GN-8", false}};

/// A contest's figures, the same on all processes.
struct Result {
  std::vector<double> seconds;  ///< of each round, until the last process is done
  Traffic forward;              ///< collectives of one process, bytes of all of them together
  Traffic backward;
  Traffic gradients;
};

bench::StepCase own_case(const ProcessOptions& options, const Communicator& processes) {
  const int64_t side = models::model_info(options.model).side;
  auto step = bench::make_step_case(options.model, options.batch * processes.size(), side);
  const int64_t first = options.batch * processes.rank();
  step.images = step.images.narrow(0, first, options.batch).contiguous(torch::MemoryFormat::ChannelsLast);
  step.labels = step.labels.narrow(0, first, options.batch);
  return step;
}

void meet(Communicator& processes) {
  std::array nothing{0.0};
  processes.sum(std::span<double>(nothing));
}

/// Collectives of one process, bytes of all.
Traffic summed(Communicator& processes, const Traffic& own) {
  std::array bytes{static_cast<double>(own.bytes)};
  processes.sum(std::span<double>(bytes));
  return {own.collectives, std::llround(bytes[0])};
}

/// The processes take turns with the contests together, one step each in every round.
std::vector<Result> compete(const ProcessOptions& options, Communicator& processes) {
  const auto step = own_case(options, processes);
  std::vector<std::unique_ptr<ProcessStep>> steps;
  for (const Contest& contest : kContests)
    steps.push_back(std::make_unique<ProcessStep>(step, contest.norm, contest.sync, processes));
  std::vector<Result> results(steps.size());
  const size_t rounds = options.quick ? 3 : 15;
  const size_t settling = 2;
  for (size_t round = 0; round < settling + rounds; ++round)
    for (const size_t turn : bench::shuffled(steps.size(), round)) {
      meet(processes);
      const bench::Stopwatch watch;
      const double loss = steps[turn]->run();
      meet(processes);
      if (round >= settling) results[turn].seconds.push_back(watch.seconds());
      if (!std::isfinite(loss)) throw Error(fmt::format("{}: the loss is {}", kContests[turn].title, loss));
    }
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto& traffic = steps[i]->traffic();
    results[i].forward = summed(processes, traffic.forward);
    results[i].backward = summed(processes, traffic.backward);
    results[i].gradients = summed(processes, traffic.gradients);
  }
  return results;
}

/// The calls of a step among so many workers, whose layers are those that were counted here.
bench::StatisticsCalls calls_of(const Contest& contest, const Result& result, int ranks, int64_t workers) {
  if (!contest.sync) return {};
  const auto contributors_of = [spec = parse(contest.norm)](int64_t processes) {
    return std::ssize(contributors(spec, {.ranks = static_cast<uint64_t>(processes)}));
  };
  const int64_t forward_bytes = result.forward.bytes / contributors_of(ranks);
  bench::StatisticsCalls calls{.reductions = result.backward.collectives,
                               .reduced_bytes = result.backward.bytes / ranks};
  if (contributors_of(workers) == workers) {
    calls.reductions += result.forward.collectives;
    calls.reduced_bytes += forward_bytes;
  } else {
    calls.broadcasts = result.forward.collectives;
    calls.broadcast_bytes = forward_bytes;
    calls.contributors = contributors_of(workers);
  }
  return calls;
}

double waiting_of(const ProcessOptions& options, const Contest& contest, const Result& result, int ranks) {
  return bench::waiting_seconds(calls_of(contest, result, ranks, options.workers), options.workers, options.wire());
}

std::string kilobytes(double bytes) { return fmt::format("{:.1f}", bytes / 1e3); }

void print(const ProcessOptions& options, const std::vector<Result>& results, int ranks) {
  std::vector<std::vector<std::string>> rows{{"statistics", "step ms", "quartiles", "Sync BN/it", "collectives",
                                              "kB a process", fmt::format("ms for {} workers", options.workers)}};
  for (size_t i = 0; i < results.size(); ++i) {
    const Result& result = results[i];
    const auto seconds = bench::quartiles(result.seconds);
    rows.push_back({kContests[i].title, fmt::format("{:.1f}", 1e3 * seconds.median),
                    fmt::format("{:.1f}-{:.1f}", 1e3 * seconds.first, 1e3 * seconds.third),
                    fmt::format("{:.2f}", bench::median_ratio(results[0].seconds, result.seconds)),
                    fmt::format("{}", result.forward.collectives + result.backward.collectives),
                    kilobytes(static_cast<double>(result.forward.bytes + result.backward.bytes) / ranks),
                    fmt::format("{:.2f}", 1e3 * waiting_of(options, kContests[i], result, ranks))});
  }
  fmt::print("{}\ngradients: {} collectives and {} kB a process, the same for all\n", text_table(rows),
             results[0].gradients.collectives, kilobytes(static_cast<double>(results[0].gradients.bytes) / ranks));
}

nlohmann::json to_json(const Traffic& traffic, int ranks) {
  return {{"collectives", traffic.collectives}, {"bytes_a_process", static_cast<double>(traffic.bytes) / ranks}};
}

nlohmann::json records_of(const ProcessOptions& options, const std::vector<Result>& results, int ranks) {
  auto records = nlohmann::json::array();
  for (size_t i = 0; i < results.size(); ++i) {
    const Result& result = results[i];
    const auto seconds = bench::quartiles(result.seconds);
    records.push_back({{"name", kContests[i].title},
                       {"norm", kContests[i].norm},
                       {"sync", kContests[i].sync},
                       {"seconds", {{"median", seconds.median}, {"q1", seconds.first}, {"q3", seconds.third}}},
                       {"speed_against_sync_bn", bench::median_ratio(results[0].seconds, result.seconds)},
                       {"forward", to_json(result.forward, ranks)},
                       {"backward", to_json(result.backward, ranks)},
                       {"gradients", to_json(result.gradients, ranks)},
                       {"modelled_waiting_seconds", waiting_of(options, kContests[i], result, ranks)}});
  }
  return records;
}

void run_bench_processes(const ProcessOptions& options, const std::string& command) {
  const auto processes = join_processes();
  const int ranks = processes->size();
  if (ranks == 1) throw Error("expected several processes, as in: mpirun -n 2 samplenorm bench processes");
  const bool speaks = processes->rank() == 0;
  std::optional<JsonFile> file;
  if (speaks && !options.json.empty()) file.emplace(options.json);
  auto record = record_header(command);
  std::optional<Undisturbed> undisturbed;
  if (speaks) {
    undisturbed.emplace();
    fmt::print("{}, {} processes of {} images each, on {} each\n\n", options.model, ranks, options.batch,
               machine_line());
  }
  const auto results = compete(options, *processes);
  if (!speaks) return;
  print(options, results, ranks);
  if (!file) return;
  record["model"] = options.model;
  record["ranks"] = ranks;
  record["batch_of_a_process"] = options.batch;
  record["steps"] = records_of(options, results, ranks);
  record["model_of_workers"] = {{"workers", options.workers},
                                {"latency_seconds", options.wire().latency_seconds},
                                {"bytes_per_second", options.wire().bytes_per_second}};
  file->write(record);
}

}  // namespace

void add_bench_processes(CLI::App& bench, const std::string& command) {
  CLI::App* processes = bench.add_subcommand(
      "processes", "Time a training step of several processes (mpirun) by how they come to their statistics");
  auto options = std::make_shared<ProcessOptions>();
  processes->add_option("--model", options->model, "The network")->capture_default_str();
  processes->add_option("--batch", options->batch, "Images of each process")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  processes->add_option("--workers", options->workers, "Workers of the model")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  processes->add_option("--latency", options->latency_microseconds, "Microseconds from one worker to another")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  processes->add_option("--bandwidth", options->gigabits, "Gigabits a second between workers")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  processes->add_flag("--quick", options->quick, "Fewer rounds: figures to look at, not to publish");
  processes->add_option("--json", options->json, "Write the figures to this file too");
  processes->footer(
      "The last column is a model, fed with the counted calls: what the statistics of a step would wait for the\n"
      "network (docs/processes.md says under which assumptions).\n\n"
      "Example:\n  mpirun -n 2 samplenorm bench processes --json processes.json");
  processes->callback([options, command] { run_bench_processes(*options, command); });
}

}  // namespace samplenorm::cli
