#include "samplers/options.h"

#include <algorithm>
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

/// "4", or "1/4".
std::optional<Nodes> read_nodes(std::string_view text) {
  const size_t slash = text.find('/');
  const auto part = number<int64_t>(text.substr(0, slash));
  const auto whole = slash == std::string_view::npos ? 0 : number<int64_t>(text.substr(slash + 1));
  constexpr int64_t kMost = 1'000'000'000;
  if (!part || *part < 1 || *part > kMost || !whole || *whole > kMost) return {};
  if (slash != std::string_view::npos && *whole < *part) return {};
  return Nodes{*part, *whole};
}

std::string print(const Nodes& nodes) {
  if (nodes.part == 0) return "all";
  return std::to_string(nodes.part) + (nodes.whole == 0 ? "" : "/" + std::to_string(nodes.whole));
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
  return std::ranges::any_of(spec.methods, [](const MethodSpec& part) { return method_of(part).draws; });
}
/// The method whose ratio can grow, if there is one.
const Method* growing_method(const Spec& spec) {
  const Method& first = method_of(spec.methods.front());  // in a mix the virtual one is last
  return first.takes_ratio && first.mixing != Mixing::kVirtual ? &first : nullptr;
}
bool can_grow(const Spec& spec) { return growing_method(spec) != nullptr; }
bool few_nodes_suffice(const Spec& spec) {
  return std::ranges::any_of(spec.methods, [](const MethodSpec& part) { return method_of(part).few_nodes_suffice; });
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
    Option{"least", "a whole number of at least 1", "needs a method that samples real rows: NS, BS, FS, LS or FRS",
           can_grow,
           [](std::string_view text, Spec& spec) {
             spec.least = number<int64_t>(text);
             const bool valid = spec.least && *spec.least >= 1;
             if (valid && *spec.least == growing_method(spec)->least) spec.least.reset();
             return valid;
           },
           [](const Spec& spec) { return spec.least ? std::to_string(*spec.least) : std::string(); }},
    Option{"field", "'white' or 'spectrum'", "needs virtual rows, as in VDN-2/128", has_virtual_rows,
           [](std::string_view text, Spec& spec) { return read_word(text, kField, spec.field); },
           [](const Spec& spec) { return word(kField, spec.field); }},
    Option{"nodes", "a whole number of at least 1 or a part of 1, as in 1/4",
           "needs a method for which the rows of a few processes suffice: BS or VDN", few_nodes_suffice,
           [](std::string_view text, Spec& spec) {
             const auto value = read_nodes(text);
             spec.nodes = value.value_or(Nodes{});
             return value.has_value();
           },
           [](const Spec& spec) { return print(spec.nodes); }},
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
