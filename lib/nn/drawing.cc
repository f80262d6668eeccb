// What the Python package needs beside the layers' operators: notations and what they draw, virtual rows, and the
// statistics that these are made of.

#include <ATen/ATen.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include "nn/checks.h"
#include "nn/few_points.h"
#include "nn/virtual_rows.h"
#include "samplenorm/virtual_batch.h"

namespace samplenorm {
namespace {

/// A notation as Python sees it: a class and no operators, since its answers are no tensors of a graph.
struct Notation : torch::CustomClassHolder {
  explicit Notation(const std::string& text) : spec(parsed(text)) {}

  /// parse(), with the exception that Python has for it.
  static Spec parsed(const std::string& text) {
    try {
      return parse(text);
    } catch (const NotationError& error) {
      TORCH_CHECK_VALUE(false, error.what());
    }
  }

  /// {notation, decay, first is batch, redrawn each step, virtual rows, stat_batch}
  std::tuple<std::string, std::optional<double>, bool, bool, int64_t, int64_t> read() const {
    return {to_string(spec),     spec.decay,     spec.first == First::kBatch, spec.redraw == Redraw::kStep,
            spec.virtual_rows(), spec.stat_batch};
  }

  /// The groups' weights, the chunk of each, and a line for each box: the number of its group, then begin, end and step
  /// of rows (of the whole tensor), depths, heights and widths.
  std::tuple<std::vector<double>, std::vector<int64_t>, std::vector<std::vector<int64_t>>> sample(
      const std::vector<int64_t>& sizes, const at::Tensor& key, int64_t rank, int64_t ranks, bool sync) const {
    std::vector<double> weights;
    std::vector<int64_t> chunks;
    std::vector<std::vector<int64_t>> boxes;
    int64_t number = 0;
    for (const Chunk& chunk : draw_chunks(sizes, spec, key_of(key, rank, ranks), sync)) {
      for (const Group& group : chunk.sample.groups) {
        for (Box box : group.boxes) {
          box.rows.begin += chunk.first_row;
          box.rows.end += chunk.first_row;
          boxes.push_back({std::ssize(weights)});
          for (const Range& range : {box.rows, box.depths, box.heights, box.widths})
            boxes.back().insert(boxes.back().end(), {range.begin, range.end, range.step});
        }
        weights.push_back(group.weight);
        chunks.push_back(number);
      }
      ++number;
    }
    return {weights, chunks, boxes};
  }

  /// {chunks, groups, room}: the sizes of a plan of such an input (plan.h).
  std::tuple<int64_t, int64_t, int64_t> plan_sizes(const std::vector<int64_t>& sizes, int64_t ranks, bool sync) const {
    const PlanSizes found = samplenorm::plan_sizes(sizes, spec, sync, ranks);
    return {found.chunks, found.groups, found.room};
  }

  /// fewest_points() of the plan of such an input.
  std::optional<int64_t> fewest_points(const std::vector<int64_t>& sizes, const at::Tensor& key, int64_t rank,
                                       int64_t ranks, bool sync) const {
    return samplenorm::fewest_points(Plan(sizes, spec, key_of(key, rank, ranks), sync), sync ? ranks : 1);
  }

  bool carries_virtual_rows(const at::Tensor& key, int64_t rank, int64_t ranks) const {
    return samplenorm::carries_virtual_rows(spec.nodes, key_of(key, rank, ranks));
  }

  Spec spec;
};

/// Notation, title and summary of every sampling method.
std::vector<std::tuple<std::string, std::string, std::string>> method_table() {
  std::vector<std::tuple<std::string, std::string, std::string>> table;
  for (const MethodInfo& info : methods()) table.emplace_back(info.notation, info.title, info.summary);
  return table;
}

at::Tensor rows(at::IntArrayRef sizes, const at::Tensor& mean, const at::Tensor& std, const OptionalTensor& root,
                const at::Tensor& key, int64_t chunk) {
  const Key parsed_key = key_of(key, 0, 1);
  return virtual_rows(sizes, {mean, std, root.value_or(at::Tensor())}, parsed_key.seed, parsed_key.step,
                      static_cast<uint64_t>(chunk));
}

at::Tensor rows_of_meta(at::IntArrayRef sizes, const at::Tensor& mean, const at::Tensor&, const OptionalTensor&,
                        const at::Tensor&, int64_t) {
  return at::empty(sizes, mean.options());
}

/// DatasetStatistics, which Python fills batch by batch.
struct StatisticsForPython : torch::CustomClassHolder {
  StatisticsForPython(int64_t channels, bool spectrum) : of_dataset(channels, spectrum) {}
  DatasetStatistics of_dataset;
};
using StatisticsPointer = c10::intrusive_ptr<StatisticsForPython>;

}  // namespace

TORCH_LIBRARY_FRAGMENT(samplenorm, library) {
  library.def("virtual_rows(int[] sizes, Tensor mean, Tensor std, Tensor? root, Tensor key, int chunk) -> Tensor");
  library.def("root_of_spectrum(Tensor spectrum) -> Tensor");
  library.def("statistics_of_batches(Tensor means, Tensor variances) -> (Tensor, Tensor)");
  library.class_<Notation>("Notation")
      .def(torch::init<std::string>())
      .def_static("methods", method_table)
      .def("read", &Notation::read)
      .def("sample", &Notation::sample)
      .def("plan_sizes", &Notation::plan_sizes)
      .def("fewest_points", &Notation::fewest_points)
      .def("carries_virtual_rows", &Notation::carries_virtual_rows);
  library.class_<StatisticsForPython>("DatasetStatistics")
      .def(torch::init<int64_t, bool>())
      .def("add", [](const StatisticsPointer& self, const at::Tensor& images) { self->of_dataset->add(images); })
      .def("mean", [](const StatisticsPointer& self) { return self->of_dataset->mean(); })
      .def("std", [](const StatisticsPointer& self) { return self->of_dataset->std(); })
      .def("spectrum", [](const StatisticsPointer& self) { return self->of_dataset->spectrum(); });
}

TORCH_LIBRARY_IMPL(samplenorm, CPU, library) { library.impl("virtual_rows", rows); }

TORCH_LIBRARY_IMPL(samplenorm, Meta, library) { library.impl("virtual_rows", rows_of_meta); }

// Of ATen calls alone, for all devices, and differentiable as far as those are.
TORCH_LIBRARY_IMPL(samplenorm, CompositeImplicitAutograd, library) {
  library.impl("root_of_spectrum", root_of_spectrum);
  library.impl("statistics_of_batches", statistics_of_batches);
}

}  // namespace samplenorm
