#pragma once

// For tests of the fast kernels only: every instruction set, tensors at any place in memory, a workspace.

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <algorithm>

#include "kernels/kernels.h"
#include "kernels/testing.h"

namespace samplenorm {

/// Calls visit() once for each instruction set.
template <class Visit>
void on_every_instruction_set(Visit visit) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    visit();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// A tensor in memory that begins `offset` elements behind a line's begin, with guards on both sides.
template <class T>
class Placed {
 public:
  Placed(std::vector<T> values, int64_t offset) : size_(values.size()) {
    memory_.resize(size_ + 2 * kGuard, guard());
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    begin_ = (64 - address % 64) % 64 / sizeof(T) + static_cast<size_t>(offset) + 64 / sizeof(T);
    std::copy(values.begin(), values.end(), memory_.begin() + static_cast<int64_t>(begin_));
  }
  T* begin() { return memory_.data() + begin_; }
  std::vector<T> values() const { return {from(), from() + static_cast<int64_t>(size_)}; }
  bool guards_are_whole() const {
    const auto is_guard = [](const T& value) { return as_double(value) == as_double(guard()); };
    return std::all_of(memory_.begin(), from(), is_guard) &&
           std::all_of(from() + static_cast<int64_t>(size_), memory_.end(), is_guard);
  }
  static double as_double(T value) { return static_cast<double>(static_cast<Compute<T>>(value)); }

 private:
  static constexpr size_t kGuard = 256;
  static T guard() { return static_cast<T>(Compute<T>{-77}); }
  auto from() const { return memory_.begin() + static_cast<int64_t>(begin_); }

  size_t size_, begin_ = 0;
  std::vector<T> memory_;
};

template <class Vector>
void expect_equal(const Vector& actual, const Vector& expected, const char* what) {
  using T = typename Vector::value_type;
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_EQ(Placed<T>::as_double(actual[i]), Placed<T>::as_double(expected[i])) << what << ", element " << i;
}

/// Memory for the kernels, full of what earlier work left.
struct WorkspaceMemory {
  std::vector<double> sums;
  std::vector<int64_t> offsets;

  explicit WorkspaceMemory(const Layout& layout)
      : sums(static_cast<size_t>(kernels::workspace_size(layout)), 1e9),
        offsets(static_cast<size_t>(layout.rows * layout.points()), 1 << 30) {}
  operator kernels::Workspace() { return {sums, offsets}; }
};

}  // namespace samplenorm
