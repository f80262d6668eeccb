#include "samplers/options.h"

#include <array>
#include <charconv>
#include <utility>

#include "samplers/method.h"

namespace samplenorm {
namespace {

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

std::string print(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// The words of an enumeration, in its order.
template <class Enum, size_t kCount>
bool read_word(std::string_view text, const std::array<std::string_view, kCount>& words, Enum& value) {
  for (size_t i = 0; i < kCount; ++i) {
    if (text != words[i]) continue;
    value = static_cast<Enum>(i);
    return true;
  }
  return false;
}

constexpr std::array<std::string_view, 2> kFirst = {"zero", "batch"};
constexpr std::array<std::string_view, 3> kRedraw = {"epoch", "step", "never"};
constexpr std::array<std::string_view, 2> kField = {"white", "spectrum"};

template <class Enum, size_t kCount>
std::string word(const std::array<std::string_view, kCount>& words, Enum value) {
  return std::string(words[static_cast<size_t>(value)]);
}

bool always(const Spec&) { return true; }
bool is_mix(const Spec& spec) { return spec.methods.size() > 1; }
bool has_virtual_rows(const Spec& spec) { return spec.virtual_rows() > 0; }
bool draws(const Spec& spec) {
  for (const MethodSpec& part : spec.methods)
    if (method_of(part).draws) return true;
  return false;
}

const std::array kOptions = {
    Option{"beta", "a number in [0, 1]", "needs a mix of virtual and real rows, as in FS-1/64+VDN-2/128", is_mix,
           [](std::string_view text, Spec& spec) {
             const auto value = number<double>(text);
             spec.beta = value.value_or(0);
             return value && *value >= 0 && *value <= 1;
           },
           [](const Spec& spec) { return print(spec.beta); }},
    Option{"decay", "a number in (0, 1]", "", always,
           [](std::string_view text, Spec& spec) {
             spec.decay = number<double>(text);
             return spec.decay && *spec.decay > 0 && *spec.decay <= 1;
           },
           [](const Spec& spec) { return spec.decay ? print(*spec.decay) : std::string(); }},
    Option{"first", "'zero' or 'batch'", "", always,
           [](std::string_view text, Spec& spec) { return read_word(text, kFirst, spec.first); },
           [](const Spec& spec) { return word(kFirst, spec.first); }},
    Option{"redraw", "'epoch', 'step' or 'never'", "needs a method that draws: BS, FS, LS or FRS", draws,
           [](std::string_view text, Spec& spec) { return read_word(text, kRedraw, spec.redraw); },
           [](const Spec& spec) { return word(kRedraw, spec.redraw); }},
    Option{"stat_batch", "a whole number of at least 1", "", always,
           [](std::string_view text, Spec& spec) {
             const auto value = number<int64_t>(text);
             spec.stat_batch = value.value_or(0);
             return value && *value >= 1;
           },
           [](const Spec& spec) { return std::to_string(spec.stat_batch); }},
    Option{"field", "'white' or 'spectrum'", "needs virtual rows, as in VDN-2/128", has_virtual_rows,
           [](std::string_view text, Spec& spec) { return read_word(text, kField, spec.field); },
           [](const Spec& spec) { return word(kField, spec.field); }},
};

}  // namespace

std::span<const Option> options() { return kOptions; }

const Option* find_option(std::string_view key) {
  for (const Option& option : kOptions)
    if (option.key == key) return &option;
  return nullptr;
}

std::string names_of_options() {
  std::string names;
  for (const Option& option : kOptions) names += (names.empty() ? "" : ", ") + std::string(option.key);
  return names;
}

}  // namespace samplenorm
