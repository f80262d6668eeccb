#include "record/metrics_line.h"

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "samplenorm/error.h"

namespace samplenorm::record {
namespace {

using Json = nlohmann::ordered_json;

template <class T, class Kind>
concept Some = std::same_as<std::remove_const_t<T>, Kind>;

// The schema, for writing and for reading.

constexpr const char* kind_of(const StepRecord&) { return "step"; }
constexpr const char* kind_of(const EpochRecord&) { return "epoch"; }

void visit_fields(Some<StepRecord> auto& record, const auto& visit) {
  visit("epoch", record.epoch);
  visit("step", record.step);
  visit("loss", record.loss);
  visit("rate", record.rate);
  visit("seconds", record.seconds);
  visit("waited_seconds", record.waited_seconds);
}

void visit_fields(Some<EpochRecord> auto& record, const auto& visit) {
  visit("epoch", record.epoch);
  visit("step", record.step);
  visit("train_loss", record.train_loss);
  visit("train_top1", record.train_top1);
  visit("test_loss", record.test_loss);
  visit("test_top1", record.test_top1);
  visit("test_top5", record.test_top5);
  visit("recalibrated_top1", record.recalibrated_top1);
  visit("recalibrated_top5", record.recalibrated_top5);
  visit("seconds", record.seconds);
  visit("waited_seconds", record.waited_seconds);
  visit("skipped_images", record.skipped_images);
}

void put(Json& line, const char* key, int64_t value) { line[key] = value; }
void put(Json& line, const char* key, double value) { line[key] = std::isfinite(value) ? Json(value) : Json(nullptr); }
void put(Json& line, const char* key, const std::optional<double>& value) {
  if (value) put(line, key, *value);
}

/// Takes a field out of the line, so that what is left at the end is what does not belong there.
Json take(Json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) throw Error(fmt::format("expected the key '{}', which is not there", key));
  Json value = *found;
  line.erase(key);
  return value;
}

void get(Json& line, const char* key, int64_t& value) {
  const Json found = take(line, key);
  // A number above 2^63 would not fit.
  if (!found.is_number_integer() || (found.is_number_unsigned() && found.get<uint64_t>() >> 63 != 0)) {
    throw Error(fmt::format("expected '{}' to be a whole number, found {}", key, found.dump()));
  }
  value = found.get<int64_t>();
}

void get(Json& line, const char* key, double& value) {
  const Json found = take(line, key);
  if (!found.is_number() && !found.is_null()) {
    throw Error(fmt::format("expected '{}' to be a number or null, found {}", key, found.dump()));
  }
  value = found.is_null() ? std::numeric_limits<double>::quiet_NaN() : found.get<double>();
}

void get(Json& line, const char* key, std::optional<double>& value) {
  if (line.contains(key)) get(line, key, value.emplace());
}

template <class R>
R record_of(Json& line) {
  R record;
  visit_fields(record, [&](const char* key, auto& value) { get(line, key, value); });
  if (!line.empty()) {
    throw Error(
        fmt::format("expected the keys of a line of kind '{}', found '{}'", kind_of(record), line.begin().key()));
  }
  return record;
}

}  // namespace

std::string to_line(const Record& record) {
  Json line;
  std::visit(
      [&](const auto& some) {
        line["kind"] = kind_of(some);
        visit_fields(some, [&](const char* key, const auto& value) { put(line, key, value); });
      },
      record);
  return line.dump();
}

Record parse_line(std::string_view text) {
  Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object()) throw Error("expected an object of JSON");
  const Json kind = take(line, "kind");
  if (kind == kind_of(StepRecord())) return record_of<StepRecord>(line);
  if (kind == kind_of(EpochRecord())) return record_of<EpochRecord>(line);
  throw Error(fmt::format("expected the kind 'step' or 'epoch', found {}", kind.dump()));
}

}  // namespace samplenorm::record
