#pragma once

// The options behind a ';' in the notation: each is declared once for reading, printing and its errors.

#include <span>
#include <string>
#include <string_view>

#include "samplenorm/notation.h"

namespace samplenorm {

struct Option {
  std::string_view key;
  std::string_view values;                           ///< what is allowed, for errors: "a number in [0, 1]"
  std::string_view needs;                            ///< why it may not apply, for errors
  bool (*applies)(const Spec& spec);                 ///< whether the methods given have any use for it
  bool (*read)(std::string_view value, Spec& spec);  ///< false: not one of `values`
  std::string (*print)(const Spec& spec);            ///< the value; equal to the default's: not printed
};

std::span<const Option> options();
const Option* find_option(std::string_view key);  ///< null for an unknown key
std::string names_of_options();

}  // namespace samplenorm
