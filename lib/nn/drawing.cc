// Operators for the Python package: what a layer draws, by notation and key, and what virtual rows are made of.

#include <ATen/ATen.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include "nn/implementation.h"
#include "nn/virtual_rows.h"
#include "samplenorm/virtual_batch.h"

namespace samplenorm {
namespace {

Key key_of(const at::Tensor& key, int64_t rank, int64_t ranks) {
  const KeyNumbers numbers = key_numbers(key, rank, ranks);
  const auto number = [&](size_t i) { return static_cast<uint64_t>(numbers[i]); };
  return {.seed = number(0),
          .layer = number(1),
          .epoch = number(2),
          .step = number(3),
          .rank = number(4),
          .ranks = number(5)};
}

/// parse(), with the exception that Python has for it.
Spec parsed(std::string_view notation) {
  try {
    return parse(notation);
  } catch (const NotationError& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
}

/// {notation, decay, first is batch, redrawn each step, virtual rows, stat_batch}
std::tuple<std::string, std::optional<double>, bool, bool, int64_t, int64_t> read_notation(std::string_view notation) {
  const Spec spec = parsed(notation);
  return {to_string(spec),     spec.decay,     spec.first == First::kBatch, spec.redraw == Redraw::kStep,
          spec.virtual_rows(), spec.stat_batch};
}

/// The groups' weights, the chunk of each, and a line for each box: the number of its group, then begin, end and step
/// of rows (of the whole tensor), depths, heights and widths.
std::tuple<at::Tensor, at::Tensor, at::Tensor> sample(at::IntArrayRef sizes, std::string_view notation,
                                                      const at::Tensor& key, int64_t rank, int64_t ranks, bool sync) {
  const Plan plan = make_plan(sizes, parsed(notation), key_of(key, rank, ranks), sync);
  std::vector<double> weights;
  std::vector<int64_t> chunks, boxes;
  for (size_t k = 0; k < plan.chunks.size(); ++k) {
    const int64_t first_row = plan.chunks[k].first_row;
    for (const Group& group : plan.chunks[k].sample.groups) {
      for (Box box : group.boxes) {
        box.rows.begin += first_row;
        box.rows.end += first_row;
        boxes.push_back(std::ssize(weights));
        for (const Range& range : {box.rows, box.depths, box.heights, box.widths})
          boxes.insert(boxes.end(), {range.begin, range.end, range.step});
      }
      weights.push_back(group.weight);
      chunks.push_back(static_cast<int64_t>(k));
    }
  }
  return {at::tensor(weights, at::kDouble), at::tensor(chunks, at::kLong), at::tensor(boxes, at::kLong).view({-1, 13})};
}

bool carries(std::string_view notation, const at::Tensor& key, int64_t rank, int64_t ranks) {
  return carries_virtual_rows(parsed(notation).nodes, key_of(key, rank, ranks));
}

at::Tensor rows(at::IntArrayRef sizes, const at::Tensor& mean, const at::Tensor& std, const OptionalTensor& root,
                const at::Tensor& key, int64_t chunk) {
  const Key parsed_key = key_of(key, 0, 1);
  return virtual_rows(sizes, {mean, std, value_or_undefined(root)}, parsed_key.seed, parsed_key.step,
                      static_cast<uint64_t>(chunk));
}

at::Tensor rows_of_meta(at::IntArrayRef sizes, const at::Tensor& mean, const at::Tensor&, const OptionalTensor&,
                        const at::Tensor&, int64_t) {
  return at::empty(sizes, mean.options());
}

/// DatasetStatistics, which Python fills batch by batch.
struct Statistics : torch::CustomClassHolder {
  Statistics(int64_t channels, bool spectrum) : of_dataset(channels, spectrum) {}
  DatasetStatistics of_dataset;
};

}  // namespace

TORCH_LIBRARY_FRAGMENT(samplenorm, library) {
  library.def("read_notation(str notation) -> (str, float?, bool, bool, int, int)", read_notation);
  library.def(
      "sample(int[] sizes, str notation, Tensor key, int rank=0, int ranks=1, bool sync=False) -> (Tensor, Tensor, "
      "Tensor)");
  library.def("carries_virtual_rows(str notation, Tensor key, int rank, int ranks) -> bool");
  library.def("virtual_rows(int[] sizes, Tensor mean, Tensor std, Tensor? root, Tensor key, int chunk) -> Tensor");
  library.def("root_of_spectrum(Tensor spectrum) -> Tensor");
  library.def("statistics_of_batches(Tensor means, Tensor variances) -> (Tensor, Tensor)");
  library.class_<Statistics>("DatasetStatistics")
      .def(torch::init<int64_t, bool>())
      .def("add",
           [](const c10::intrusive_ptr<Statistics>& self, const at::Tensor& images) { self->of_dataset->add(images); })
      .def("mean", [](const c10::intrusive_ptr<Statistics>& self) { return self->of_dataset->mean(); })
      .def("std", [](const c10::intrusive_ptr<Statistics>& self) { return self->of_dataset->std(); })
      .def("spectrum", [](const c10::intrusive_ptr<Statistics>& self) { return self->of_dataset->spectrum(); });
}

TORCH_LIBRARY_IMPL(samplenorm, CPU, library) {
  library.impl("sample", sample);
  library.impl("carries_virtual_rows", carries);
  library.impl("virtual_rows", rows);
}

TORCH_LIBRARY_IMPL(samplenorm, Meta, library) { library.impl("virtual_rows", rows_of_meta); }

// Of ATen calls alone, for all devices, and differentiable as far as those are.
TORCH_LIBRARY_IMPL(samplenorm, CompositeImplicitAutograd, library) {
  library.impl("root_of_spectrum", root_of_spectrum);
  library.impl("statistics_of_batches", statistics_of_batches);
}

}  // namespace samplenorm
