#include "bench/layer_bench.h"

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
               const LayerTensors& tensors) {
  for (const auto& norm : norms) {
    const auto layer = make_layer(norm, tensors, layer_case.fusion);
    Measurement what{.sizes = layer_case.sizes,
                     .format = format_name(layer_case.format),
                     .fusion = layer_case.fusion,
                     .norm = norm,
                     .path = kAutograd,
                     .sampled = sampled_part(*layer, layer_case.sizes)};
    field.add(what, autograd_contender(layer, tensors));
    what.path = kRaw;
    field.add(what, raw_contender(layer, tensors));
  }
}

void add_others(Field& field, const LayerCase& layer_case, const LayerTensors& tensors) {
  const auto other = [&](const char* name, std::string path) {
    return Measurement{
        .sizes = layer_case.sizes, .format = "", .fusion = layer_case.fusion, .norm = name, .path = std::move(path)};
  };
  for (auto& onednn : onednn_contenders(tensors, layer_case.fusion)) {
    field.add(other(kOneDnn, onednn.format), std::move(onednn.contender));
  }
  field.add(other(kLimit, "ordinary stores"), limit_contender(tensors, Stores::kOrdinary));
  field.add(other(kLimit, "streaming stores"), limit_contender(tensors, Stores::kStreaming));
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
    add_norms(field, layer_case, norms, tensors);
    if (format == torch::MemoryFormat::ChannelsLast) continue;
    check_onednn(layer_case, tensors);
    add_others(field, layer_case, tensors);
  }
  std::vector<Contender*> contenders;
  for (const auto& contender : field.contenders) contenders.push_back(contender.get());
  auto seconds = time_in_rounds(contenders, effort);
  for (size_t i = 0; i < seconds.size(); ++i) field.measurements[i].seconds = std::move(seconds[i]);
  field.measurements.push_back(limit_of(field.measurements));
  return std::move(field.measurements);
}

}  // namespace samplenorm::bench
