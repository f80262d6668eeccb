// The notation, both ways. Parsing keeps the position of every token, so that an error can point at it.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "samplers/method.h"
#include "samplers/options.h"

namespace samplenorm {
namespace {

std::string names_of_methods() {
  std::string names;
  for (const Method* method : registry()) names += (names.empty() ? "" : ", ") + std::string(method->name);
  return names;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Spec run() {
    Spec spec;
    parse_method(spec);
    if (skip('+')) parse_mixed_method(spec);
    while (skip(';')) parse_option(spec);
    if (at_ < text_.size()) {
      const bool mixed = spec.methods.size() > 1;
      fail(at_,
           std::string("unexpected '") + text_[at_] + "', expected " + (mixed ? "';'" : "'+', ';'") + " or the end");
    }
    return spec;
  }

 private:
  [[noreturn]] void fail(size_t where, const std::string& problem) const { throw NotationError(text_, where, problem); }

  bool skip(char wanted) {
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted, const char* where) {
    if (!skip(wanted)) fail(at_, std::string("expected '") + wanted + "' " + where);
  }

  template <class Accept>
  std::string_view token(Accept accept) {
    const size_t begin = at_;
    while (at_ < text_.size() && accept(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

  int64_t positive_integer(const char* what) {
    const size_t begin = at_;
    const std::string_view digits = token(is_digit);
    int64_t value = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty()) fail(begin, std::string("expected ") + what);
    if (status != std::errc{} || value > 1'000'000'000) fail(begin, std::string(what) + " is too large");
    if (value < 1) fail(begin, std::string(what) + " must be at least 1");
    return value;
  }

  void parse_method(Spec& spec) {
    const size_t begin = at_;
    const std::string_view name = token([](char c) { return is_letter(c) || is_digit(c); });
    const Method* method = find_method(name);
    if (!method) {
      fail(begin, name.empty() ? "expected a method, one of " + names_of_methods()
                               : "unknown method '" + std::string(name) + "', expected one of " + names_of_methods());
    }
    Ratio ratio;
    if (method->takes_ratio) {
      expect('-', ("and a ratio behind '" + std::string(name) + "', as in " + std::string(name) + "-1/64").c_str());
      ratio = parse_ratio();
    } else if (skip('-')) {  // the paper's own BN-128/128-100.0%
      const size_t where = at_;
      const Ratio whole = parse_ratio();
      if (whole.part != whole.whole) fail(where, std::string(name) + " takes all of the data: no ratio other than a/a");
    }
    spec.methods.push_back({std::string(name), ratio});
  }

  void parse_mixed_method(Spec& spec) {
    const auto mixing = [&](size_t i) { return method_of(spec.methods[i]).mixing; };
    const size_t begin = at_;
    if (mixing(0) == Mixing::kNever) fail(begin - 1, spec.methods[0].name + " cannot be mixed with another method");
    parse_method(spec);
    if (mixing(1) == Mixing::kNever) fail(begin, spec.methods[1].name + " cannot be mixed with another method");
    if (mixing(0) == mixing(1))
      fail(begin, "a mix has one method of real rows and one of virtual rows, as in FS-1/64+VDN-2/128");
    if (mixing(0) == Mixing::kVirtual) std::swap(spec.methods[0], spec.methods[1]);
  }

  Ratio parse_ratio() {
    Ratio ratio;
    const size_t begin = at_;
    ratio.part = positive_integer("the ratio's first number");
    expect('/', "in the ratio");
    ratio.whole = positive_integer("the ratio's second number");
    if (ratio.part > ratio.whole) fail(begin, "the ratio must not be larger than 1");
    if (skip('-')) parse_percentage(ratio);
    return ratio;
  }

  void parse_percentage(Ratio ratio) {
    const size_t begin = at_;
    const std::string_view number = token([](char c) { return is_digit(c) || c == '.'; });
    double percent = 0;
    const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), percent);
    if (number.empty() || status != std::errc{} || end != number.data() + number.size())
      fail(begin, "expected a percentage, as in FS-1/32-3.1%");
    expect('%', "behind the percentage");
    const size_t point = number.find('.');
    const size_t decimals = point == std::string_view::npos ? 0 : number.size() - point - 1;
    const double exact = 100 * ratio.value();
    if (std::abs(percent - exact) > 0.5 * std::pow(10.0, -static_cast<double>(decimals)) + 1e-9) {
      char text[32];
      std::snprintf(text, sizeof text, "%.3g", exact);
      fail(begin, "the ratio is " + std::string(text) + " %");
    }
  }

  void parse_option(Spec& spec) {
    const size_t key_at = at_;
    const std::string_view key = token([](char c) { return is_letter(c) || c == '_'; });
    const Option* option = find_option(key);
    if (!option)
      fail(key_at, key.empty() ? "expected an option, one of " + names_of_options()
                               : "unknown option '" + std::string(key) + "', expected one of " + names_of_options());
    if (std::ranges::count(seen_, option) > 0) fail(key_at, "option '" + std::string(key) + "' is given twice");
    seen_.push_back(option);
    if (!option->applies(spec)) fail(key_at, "option '" + std::string(key) + "' " + std::string(option->needs));
    expect('=', ("behind '" + std::string(key) + "'").c_str());
    const size_t value_at = at_;
    const std::string_view value = token([](char c) { return c != ';'; });
    if (!option->read(value, spec)) fail(value_at, std::string(key) + " must be " + std::string(option->values));
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<const Option*> seen_;
};

std::string print_method(const MethodSpec& part) {
  if (!method_of(part).takes_ratio) return part.name;
  return part.name + "-" + std::to_string(part.ratio.part) + "/" + std::to_string(part.ratio.whole);
}

}  // namespace

NotationError::NotationError(std::string_view notation, size_t position, const std::string& problem)
    : Error("wrong notation at character " + std::to_string(position + 1) + ": " + problem + "\n  " +
            std::string(notation) + "\n  " + std::string(position, ' ') + "^"),
      position_(position) {}

Spec parse(std::string_view notation) { return Parser(notation).run(); }

std::string to_string(const Spec& spec) {
  std::string text;
  for (const MethodSpec& part : spec.methods) text += (text.empty() ? "" : "+") + print_method(part);
  for (const Option& option : options()) {
    const std::string value = option.print(spec);
    if (value != option.print(Spec{})) text += ";" + std::string(option.key) + "=" + value;
  }
  return text;
}

std::string paper_name(const Spec& spec) {
  std::string text;
  for (const MethodSpec& part : spec.methods) {
    char percentage[32];
    std::snprintf(percentage, sizeof percentage, "-%.1f%%", 100 * part.ratio.value());
    text += (text.empty() ? "" : "+") + print_method(part) + (method_of(part).takes_ratio ? percentage : "");
  }
  return text;
}

int64_t Spec::virtual_rows() const {
  for (const MethodSpec& part : methods)
    if (method_of(part).mixing == Mixing::kVirtual) return part.ratio.part;
  return 0;
}

}  // namespace samplenorm
