#include "cli/machine.h"

#include <ATen/Parallel.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <generated/commit.h>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

namespace samplenorm::cli {
namespace {

constexpr double kBusyLoadPerCore = 0.5;

/// Of the last minute; none where the system does not tell.
double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

std::string now() {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)));
}

std::string cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace

nlohmann::json record_header(const std::string& command) {
  return {{"command", command},
          {"date", now()},
          {"samplenorm", SAMPLENORM_VERSION},
          {"commit", SAMPLENORM_COMMIT},
          {"libtorch", TORCH_VERSION},
          {"cpu", cpu_model()},
          {"threads", at::get_num_threads()},
          {"load_average", load_average()}};
}

std::string machine_line() {
  const int threads = at::get_num_threads();
  return fmt::format("{}, {} thread{}", cpu_model(), threads, threads == 1 ? "" : "s");
}

void warn_of_load() {
  const auto cores = static_cast<double>(std::max(1u, std::thread::hardware_concurrency()));
  const double load = load_average();
  if (load <= kBusyLoadPerCore * cores) return;
  fmt::print(stderr, "samplenorm: timings are unreliable, since the load is {:.1f} on {:.0f} cores\n", load, cores);
}

}  // namespace samplenorm::cli
