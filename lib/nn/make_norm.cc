#include <array>
#include <charconv>

#include "nn/comparison_norms.h"

namespace samplenorm {
namespace {

constexpr std::array kComparisonNorms = {&l1_batch_norm, &range_batch_norm,   &group_norm,
                                         &layer_norm,    &virtual_batch_norm, &no_norm};

const ComparisonNorm* find_comparison_norm(std::string_view name) {
  for (const ComparisonNorm* norm : kComparisonNorms)
    if (norm->name == name) return norm;
  return nullptr;
}

int64_t number_behind(const std::string& notation, size_t begin, const std::string& name) {
  int64_t number = 0;
  const char* first = notation.data() + begin + 1;
  const char* last = notation.data() + notation.size();
  const bool present = begin < notation.size() && notation[begin] == '-';
  if (!present || first == last || std::from_chars(first, last, number).ptr != last || number < 1)
    throw NotationError(notation, std::min(begin + present, notation.size()),
                        "expected '-' and a number of at least 1 behind '" + name + "', as in " + name + "-8");
  return number;
}

/// parse() would name the sampling methods only.
void check_method_is_known(const std::string& notation, const std::string& name) {
  std::string known;
  for (const auto& list : {methods(), comparison_norms()})
    for (const MethodInfo& method : list) {
      if (name == method.notation.substr(0, method.notation.find('-'))) return;
      known += (known.empty() ? "" : ", ") + method.notation;
    }
  throw NotationError(notation, 0, "unknown norm '" + name + "', expected one of " + known);
}

}  // namespace

std::shared_ptr<Norm> make_norm(const NormOptions& options) {
  const std::string& notation = options.spec();
  const size_t end = std::min(notation.find_first_of("-+;"), notation.size());
  const std::string name = notation.substr(0, end);
  const ComparisonNorm* norm = find_comparison_norm(name);
  if (!norm) {
    check_method_is_known(notation, name);
    return std::make_shared<SampledBatchNormImpl>(options);
  }
  if (norm->takes_number) return norm->make(options, number_behind(notation, end, name));
  if (end != notation.size()) throw NotationError(notation, end, "nothing may follow '" + name + "'");
  return norm->make(options, 0);
}

std::shared_ptr<Norm> make_norm(const std::string& notation, int64_t channels, bool relu) {
  return make_norm(NormOptions(channels).spec(notation).relu(relu));
}

std::vector<MethodInfo> comparison_norms() {
  std::vector<MethodInfo> all;
  for (const ComparisonNorm* norm : kComparisonNorms)
    all.push_back({std::string(norm->name) + (norm->takes_number ? "-n" : ""), std::string(norm->title),
                   std::string(norm->summary)});
  return all;
}

}  // namespace samplenorm
