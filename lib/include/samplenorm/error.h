#pragma once

#include <stdexcept>

namespace samplenorm {

/// What samplenorm throws for bad input outside of tensors: one sentence that says what is wrong, where, and what would
/// be right. (Operators and modules report bad tensors as libtorch does, with c10::Error.)
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace samplenorm
