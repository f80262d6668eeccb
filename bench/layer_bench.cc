#include "bench/layer_bench.h"

#include <algorithm>

#include "bench/contender.h"
#include "bench/layer_check.h"
#include "bench/onednn.h"

namespace samplenorm::bench {
namespace {

/// Contenders and, at the same index, what is known of them before they are timed.
struct Field {
  void add(Measurement what, std::unique_ptr<Contender> who) {
    if (who == nullptr) return;
    measurements.push_back(std::move(what));
    contenders.push_back(std::move(who));
  }

  Measurements measurements;
  std::vector<std::unique_ptr<Contender>> contenders;
};

void add_norms(Field& field, const LayerCase& layer_case, const std::vector<std::string>& norms,
               const LayerTensors& tensors, bool with_raw) {
  for (const auto& norm : norms) {
    const auto layer = make_layer(norm, tensors, layer_case.fusion);
    Measurement what{.sizes = layer_case.sizes,
                     .format = format_name(layer_case.format),
                     .fusion = layer_case.fusion,
                     .norm = norm,
                     .path = kAutograd,
                     .sampled = sampled_part(*layer, layer_case.sizes)};
    field.add(what, autograd_contender(layer, tensors));
    if (!with_raw) continue;
    what.path = kRaw;
    field.add(what, raw_contender(layer, tensors));
  }
}

Measurement without_format(const LayerCase& layer_case, const char* name, std::string path) {
  return {.sizes = layer_case.sizes, .format = "", .fusion = layer_case.fusion, .norm = name, .path = std::move(path)};
}

void add_limits(Field& field, const LayerCase& layer_case, const LayerTensors& tensors) {
  field.add(without_format(layer_case, kLimit, "ordinary stores"), limit_contender(tensors, Stores::kOrdinary));
  field.add(without_format(layer_case, kLimit, "streaming stores"), limit_contender(tensors, Stores::kStreaming));
}

/// The contenders at the same place of each field as one.
Field rings_of(std::vector<Field> fields) {
  Field rings;
  for (size_t i = 0; i < fields.front().contenders.size(); ++i) {
    std::vector<std::unique_ptr<Contender>> layers;
    for (Field& field : fields) layers.push_back(std::move(field.contenders[i]));
    rings.add(fields.front().measurements[i], ring_contender(std::move(layers)));
  }
  return rings;
}

Measurements timed(Field field, const Effort& effort) {
  std::vector<Contender*> contenders;
  for (const auto& contender : field.contenders) contenders.push_back(contender.get());
  auto seconds = time_in_rounds(contenders, effort);
  for (size_t i = 0; i < seconds.size(); ++i) field.measurements[i].seconds = std::move(seconds[i]);
  field.measurements.push_back(limit_of(field.measurements));
  return std::move(field.measurements);
}

}  // namespace

const std::vector<std::vector<int64_t>>& standard_shapes() {
  static const std::vector<std::vector<int64_t>> shapes = {{32, 64, 112, 112}, {32, 64, 56, 56},   {32, 256, 56, 56},
                                                           {32, 512, 28, 28},  {32, 1024, 14, 14}, {32, 512, 7, 7},
                                                           {128, 16, 32, 32},  {128, 32, 16, 16},  {128, 64, 8, 8}};
  return shapes;
}

Measurements bench_layer(const std::vector<int64_t>& sizes, Fusion fusion, const std::vector<std::string>& norms,
                         const Effort& effort) {
  Field field;
  for (const auto format : {torch::MemoryFormat::ChannelsLast, torch::MemoryFormat::Contiguous}) {
    const LayerCase layer_case{sizes, format, fusion};
    const auto tensors = make_tensors(layer_case);
    for (const auto& norm : norms) check_norm(norm, layer_case, tensors);
    add_norms(field, layer_case, norms, tensors, /*with_raw=*/true);
    if (format == torch::MemoryFormat::ChannelsLast) continue;
    check_onednn(layer_case, tensors);
    for (auto& onednn : onednn_contenders(tensors, fusion))
      field.add(without_format(layer_case, kOneDnn, onednn.format), std::move(onednn.contender));
    add_limits(field, layer_case, tensors);
  }
  return timed(std::move(field), effort);
}

std::vector<std::vector<int64_t>> ring_shapes() {
  auto shapes = standard_shapes();
  shapes.insert(shapes.end(), {{16, 96, 56, 56}, {16, 1152, 4, 4}, {4, 64, 4, 4}});
  return shapes;
}

int ring_layers(const std::vector<int64_t>& sizes) {
  constexpr int64_t kBytes = 256 << 20, kFewest = 3, kMost = 64;  // a network has no more layers of one size
  return static_cast<int>(std::clamp(kBytes / (4 * c10::multiply_integers(sizes)), kFewest, kMost));
}

Measurements bench_ring(const std::vector<int64_t>& sizes, Fusion fusion, const std::vector<std::string>& norms,
                        const Effort& effort) {
  std::vector<Field> fields(static_cast<size_t>(ring_layers(sizes)));
  for (const auto format : {torch::MemoryFormat::ChannelsLast, torch::MemoryFormat::Contiguous}) {
    const LayerCase layer_case{sizes, format, fusion};
    const auto tensors = make_tensors(layer_case);
    for (const auto& norm : norms) check_norm(norm, layer_case, tensors);
    for (Field& field : fields) {
      const LayerTensors own = copy_of(tensors);
      add_norms(field, layer_case, norms, own, /*with_raw=*/false);
      if (format == torch::MemoryFormat::Contiguous) add_limits(field, layer_case, own);
    }
  }
  return timed(rings_of(std::move(fields)), effort);
}

}  // namespace samplenorm::bench
