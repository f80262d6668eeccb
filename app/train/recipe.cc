#include "train/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "samplenorm/error.h"
#include "samplenorm/notation.h"
#include "train/nearest.h"

namespace samplenorm::train {
namespace {

template <class Number>
std::optional<Number> to_number(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (text.empty() || result.ec != std::errc() || result.ptr != end) return {};
  return number;
}

std::optional<std::vector<int64_t>> to_list(const std::string& text) {
  std::vector<int64_t> list;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto number = to_number<int64_t>(text.substr(begin, end - begin));
    if (!number || (!list.empty() && *number <= list.back()) || *number < 0) return {};
    list.push_back(*number);
    begin = end + 1;
  }
  return list;
}

/// What a field takes, in words.
std::string expectation(const RecipeField& field) {
  if (!field.choices.empty()) return fmt::format("one of {}", fmt::join(field.choices, ", "));
  if (std::holds_alternative<bool Recipe::*>(field.member)) return "true or false";
  if (std::holds_alternative<std::vector<int64_t> Recipe::*>(field.member)) return "ascending epochs, as in 50,80,110";
  if (std::holds_alternative<std::string Recipe::*>(field.member)) return "a text that is not empty";
  std::string words = std::holds_alternative<int64_t Recipe::*>(field.member) ? "a whole number" : "a number";
  if (field.least > -std::numeric_limits<double>::infinity()) words += fmt::format(" of at least {}", field.least);
  if (field.most < std::numeric_limits<double>::infinity()) words += fmt::format(" and at most {}", field.most);
  return words;
}

/// Reads a text into a member; false if it is no such value.
class Reader {
 public:
  Reader(Recipe& recipe, const RecipeField& field, const std::string& text)
      : recipe_(recipe), field_(field), text_(text) {}

  bool operator()(std::string Recipe::*member) const {
    const auto& choices = field_.choices;
    const bool known = choices.empty() || std::find(choices.begin(), choices.end(), text_) != choices.end();
    const bool may_be_empty = member == &Recipe::data_folder;
    if (!known || (text_.empty() && !may_be_empty)) return false;
    recipe_.*member = text_;
    return true;
  }
  bool operator()(bool Recipe::*member) const {
    recipe_.*member = text_ == "true";
    return text_ == "true" || text_ == "false";
  }
  bool operator()(std::vector<int64_t> Recipe::*member) const {
    const auto list = to_list(text_);
    if (list) recipe_.*member = *list;
    return list.has_value();
  }
  template <class Number>
  bool operator()(Number Recipe::*member) const {
    const auto number = to_number<Number>(text_);
    if (!number || !(static_cast<double>(*number) >= field_.least && static_cast<double>(*number) <= field_.most))
      return false;
    recipe_.*member = *number;
    return true;
  }

 private:
  Recipe& recipe_;
  const RecipeField& field_;
  const std::string& text_;
};

struct Writer {
  const Recipe& recipe;

  std::string operator()(std::vector<int64_t> Recipe::*member) const {
    return fmt::format("{}", fmt::join(recipe.*member, ","));
  }
  template <class T>
  std::string operator()(T Recipe::*member) const {
    return fmt::format("{}", recipe.*member);
  }
};

/// Of the recipe's norm, for what needs a sampling method.
Spec spec_for(const std::string& purpose, const Recipe& recipe) {
  try {
    return parse(recipe.norm);
  } catch (const NotationError&) {
    throw Error(fmt::format("{} needs a sampling method (samplenorm methods lists them), not the norm '{}'", purpose,
                            recipe.norm));
  }
}

}  // namespace

std::string field_text(const Recipe& recipe, const RecipeField& field) {
  return std::visit(Writer{recipe}, field.member);
}

void set_field(Recipe& recipe, const std::string& key, const std::string& text, const std::string& where) {
  std::vector<std::string> names;
  for (const RecipeField& field : recipe_fields()) {
    names.emplace_back(field.name);
    if (key != field.name) continue;
    if (std::visit(Reader(recipe, field, text), field.member)) return;
    throw Error(fmt::format("{}: '{}' is not a value for {}, which takes {}", where, text, key, expectation(field)));
  }
  throw Error(fmt::format("{}: a recipe has no field '{}'; the nearest is '{}'", where, key, nearest(key, names)));
}

std::optional<std::string> difference(const Recipe& there, const Recipe& here) {
  for (const RecipeField& field : recipe_fields()) {
    const std::string old_value = field_text(there, field), new_value = field_text(here, field);
    if (field.decides_weights && old_value != new_value)
      return fmt::format("{} is '{}' there and '{}' here", field.name, old_value, new_value);
  }
  return {};
}

std::string full_notation(const Recipe& recipe) {
  if (recipe.sync && (recipe.stat_batch > 0 || spec_for("sync", recipe).stat_batch > 0))
    throw Error("sync pools the rows of all processes, and stat_batch splits them: only one of them can be asked for");
  if (recipe.stat_batch == 0) return recipe.norm;
  Spec spec = spec_for(fmt::format("stat_batch={}", recipe.stat_batch), recipe);
  spec.stat_batch = recipe.stat_batch;
  return to_string(spec);
}

}  // namespace samplenorm::train
