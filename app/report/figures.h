#pragma once

// Numbers of records as claims and pages need them: means over seeds with their intervals, and numbers as text.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace samplenorm::report {

/// A field of a record: NaN (or no text) where it is missing, null or of another type.
double number_in(const nlohmann::json& object, const char* key);
std::string text_in(const nlohmann::json& object, const char* key);

/// The mean of `count` values and half the width of its 95 % interval, which is NaN for fewer than two of them.
struct Estimate {
  double mean;
  double half_width;
  size_t count;
};
Estimate estimate(const std::vector<double>& values);

/// 97.5 % of Student's t distribution lie below: half the width of an interval is this many standard errors.
double student_t(size_t degrees_of_freedom);

/// Whether both intervals are known and have a point in common.
bool overlap(const Estimate& a, const Estimate& b);

/// NaN of no values; NaNs among them are left out.
double median(std::vector<double> values);
double geometric_mean(const std::vector<double>& values);

/// Of parts of 1: "44.8 %", "44.8 ± 1.2 %", "+3.1 %", "-0.1 points"; a dash for NaN.
std::string percent(double part);
std::string percent(const Estimate& estimate);
std::string signed_percent(double part);
std::string signed_points(double part);
/// "1.52×".
std::string times(double ratio);
/// "1.853 ± 0.021"; an infinite mean is of runs that did not converge.
std::string plain(const Estimate& estimate);
std::string plain(double value);

}  // namespace samplenorm::report
