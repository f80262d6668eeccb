#include "cli/machine.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace samplenorm::cli {
namespace {

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
          {"samplenorm", SAMPLENORM_VERSION},
          {"libtorch", TORCH_VERSION},
          {"cpu", cpu_model()},
          {"threads", at::get_num_threads()}};
}

std::string machine_line() { return fmt::format("{}, {} threads", cpu_model(), at::get_num_threads()); }

}  // namespace samplenorm::cli
