#include "record/metrics_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "samplenorm/error.h"

namespace samplenorm::record {

void throw_error(const std::string& problem) { throw Error(problem); }

std::vector<Record> read_metrics_file(const std::filesystem::path& file,
                                      const std::function<void(const std::string&)>& on_damage) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error(fmt::format("cannot read {}: {}", file.string(), std::strerror(errno)));
  std::vector<Record> records;
  std::string line;
  // At the end of the file without a '\n', getline() sets eof together with the line.
  for (int64_t number = 1; std::getline(stream, line) && !stream.eof(); ++number) {
    try {
      records.push_back(parse_line(line));
    } catch (const Error& error) {
      on_damage(fmt::format("{}:{}: {}", file.string(), number, error.what()));
    }
  }
  if (stream.bad()) throw Error(fmt::format("cannot read {} to its end: {}", file.string(), std::strerror(errno)));
  return records;
}

bool is_within(const Record& record, int64_t steps_done) {
  // An epoch's `step` counts the steps that were done, a step's is its own number.
  if (const auto* step = std::get_if<StepRecord>(&record)) return step->step < steps_done;
  return std::get<EpochRecord>(record).step <= steps_done;
}

}  // namespace samplenorm::record
