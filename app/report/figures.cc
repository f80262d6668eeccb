#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace samplenorm::report {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kNothing = "–";

/// Adding 0 makes -0 a +0.
double rounded_percent(double part) { return std::round(1000 * part) / 10 + 0.0; }

}  // namespace

double number_in(const nlohmann::json& object, const char* key) {
  const auto field = object.find(key);
  return field != object.end() && field->is_number() ? field->get<double>() : kNaN;
}

std::string text_in(const nlohmann::json& object, const char* key) {
  const auto field = object.find(key);
  return field != object.end() && field->is_string() ? field->get<std::string>() : "";
}

double student_t(size_t degrees_of_freedom) {
  constexpr std::array kTable{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
  if (degrees_of_freedom == 0) return kNaN;
  if (degrees_of_freedom <= kTable.size()) return kTable[degrees_of_freedom - 1];
  // Cornish and Fisher's expansion around the normal distribution: from 11 on right to the third decimal.
  const double z = 1.959964, n = double(degrees_of_freedom);
  return z + (std::pow(z, 3) + z) / (4 * n) + (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / (96 * n * n) +
         (3 * std::pow(z, 7) + 19 * std::pow(z, 5) + 17 * std::pow(z, 3) - 15 * z) / (384 * n * n * n);
}

Estimate estimate(const std::vector<double>& values) {
  if (values.empty()) return {kNaN, kNaN, 0};
  const double count = double(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / count;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, student_t(values.size() - 1) * std::sqrt(squares / (count - 1) / count), values.size()};
}

bool overlap(const Estimate& a, const Estimate& b) { return std::abs(a.mean - b.mean) <= a.half_width + b.half_width; }

double median(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return kNaN;
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return kNaN;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / double(values.size()));
}

std::string percent(double part) { return std::isnan(part) ? kNothing : fmt::format("{:.1f} %", 100 * part); }

std::string percent(const Estimate& estimate) {
  if (std::isnan(estimate.mean) || std::isnan(estimate.half_width)) return percent(estimate.mean);
  return fmt::format("{:.1f} ± {:.1f} %", 100 * estimate.mean, 100 * estimate.half_width);
}

std::string signed_percent(double part) {
  return std::isnan(part) ? kNothing : fmt::format("{:+.1f} %", rounded_percent(part));
}

std::string signed_points(double part) {
  return std::isnan(part) ? kNothing : fmt::format("{:+.1f} points", rounded_percent(part));
}

std::string times(double ratio) { return std::isnan(ratio) ? kNothing : fmt::format("{:.2f}×", ratio); }

std::string plain(double value) { return std::isnan(value) ? kNothing : fmt::format("{:.3g}", value); }

std::string plain(const Estimate& estimate) {
  if (std::isinf(estimate.mean)) return "did not converge";
  if (std::isnan(estimate.mean)) return kNothing;
  if (std::isnan(estimate.half_width)) return fmt::format("{:.3f}", estimate.mean);
  return fmt::format("{:.3f} ± {:.3f}", estimate.mean, estimate.half_width);
}

}  // namespace samplenorm::report
