#include "report/norm_name.h"

#include <cmath>
#include <cstdlib>

namespace samplenorm::report {
namespace {

// 1/49, all that a map of 7 x 7 can give, passes for 1/64; the paper's own ratios are a factor of 2 apart.
constexpr double kSameRatio = 1.4;

/// "4/128" as a number; 0 for what is not a fraction.
double fraction(const std::string& text) {
  const auto slash = text.find('/');
  if (slash == std::string::npos) return 0;
  const double above = std::atof(text.c_str()), below = std::atof(text.c_str() + slash + 1);
  return below > 0 ? above / below : 0;
}

}  // namespace

NormName norm_name(const std::string& text) {
  const auto options = text.find(';');
  NormName name{text, "", 0, options != std::string::npos};
  std::string rest = text.substr(0, options);
  while (!rest.empty()) {
    const auto plus = rest.find('+');
    const std::string part = rest.substr(0, plus);
    const auto dash = part.find('-');
    name.method += (name.method.empty() ? "" : "+") + part.substr(0, dash);
    if (dash != std::string::npos) name.ratio += fraction(part.substr(dash + 1));
    rest = plus == std::string::npos ? "" : rest.substr(plus + 1);
  }
  if (name.ratio == 0) name.ratio = 1;
  return name;
}

bool same_ratio(double a, double b) { return a < b * kSameRatio && b < a * kSameRatio; }

}  // namespace samplenorm::report
