#include "bench/onednn.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

namespace samplenorm::bench {
namespace {

using Format = dnnl::memory::format_tag;
using Arguments = std::unordered_map<int, dnnl::memory>;

constexpr float kEps = 1e-5f;

dnnl::engine& cpu() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// Memory of torch's allocator, as all contenders have it, seen by oneDNN in a format of its own.
struct Buffer {
  Buffer() = default;
  explicit Buffer(const dnnl::memory::desc& desc)
      : bytes(at::empty({static_cast<int64_t>(desc.get_size())}, at::kByte)), memory(desc, cpu(), bytes.data_ptr()) {}

  torch::Tensor bytes;
  dnnl::memory memory;
};

dnnl::memory::desc map_desc(const torch::Tensor& x, Format format) {
  return {x.sizes().vec(), dnnl::memory::data_type::f32, format};
}

dnnl::memory view(const torch::Tensor& contiguous, const dnnl::memory::desc& desc) {
  return dnnl::memory(desc, cpu(), contiguous.data_ptr());
}

dnnl::memory view(const torch::Tensor& channels) {
  return view(channels, {channels.sizes().vec(), dnnl::memory::data_type::f32, Format::a});
}

class Layer : public Contender {
 public:
  Layer(const LayerTensors& tensors, Fusion fusion, Format format)
      : stream_(cpu()), weight_(tensors.weight), bias_(tensors.bias), data_desc_(map_desc(tensors.x, format)) {
    using Flags = dnnl::normalization_flags;
    auto flags = Flags::use_scale | Flags::use_shift;
    if (has_relu(fusion)) flags = flags | Flags::fuse_norm_relu;
    using Forward = dnnl::batch_normalization_forward;
    const Forward::desc forward_desc(dnnl::prop_kind::forward_training, data_desc_, kEps, flags);
    forward_desc_ = Forward::primitive_desc(forward_desc, cpu());
    forward_ = Forward(forward_desc_);
    using Backward = dnnl::batch_normalization_backward;
    const Backward::desc backward_desc(dnnl::prop_kind::backward, data_desc_, data_desc_, kEps, flags);
    backward_ = Backward(Backward::primitive_desc(backward_desc, cpu(), forward_desc_));
    sizes_ = tensors.x.sizes().vec();
    x_ = in_own_format(tensors.x.detach());
    dy_ = in_own_format(tensors.dy);
  }

  /// "jit:avx2", or "ref:any" for plain loops that stand in where oneDNN has nothing better.
  std::string implementation() const { return forward_desc_.impl_info_str(); }

  void forward() override {
    y_ = Buffer(data_desc_);
    mean_ = at::empty_like(weight_);
    variance_ = at::empty_like(weight_);
    Arguments arguments{{DNNL_ARG_SRC, x_.memory},       {DNNL_ARG_DST, y_.memory},
                        {DNNL_ARG_SCALE, view(weight_)}, {DNNL_ARG_SHIFT, view(bias_)},
                        {DNNL_ARG_MEAN, view(mean_)},    {DNNL_ARG_VARIANCE, view(variance_)}};
    if (forward_desc_.workspace_desc().get_size() > 0) {
      workspace_ = Buffer(forward_desc_.workspace_desc());
      arguments.insert({DNNL_ARG_WORKSPACE, workspace_.memory});
    }
    forward_.execute(stream_, arguments);
    stream_.wait();
  }

  void backward() override {
    dx_ = Buffer(data_desc_);
    dweight_ = at::empty_like(weight_);
    dbias_ = at::empty_like(weight_);
    Arguments arguments{{DNNL_ARG_SRC, x_.memory},
                        {DNNL_ARG_DIFF_DST, dy_.memory},
                        {DNNL_ARG_DIFF_SRC, dx_.memory},
                        {DNNL_ARG_SCALE, view(weight_)},
                        {DNNL_ARG_SHIFT, view(bias_)},
                        {DNNL_ARG_MEAN, view(mean_)},
                        {DNNL_ARG_VARIANCE, view(variance_)},
                        {DNNL_ARG_DIFF_SCALE, view(dweight_)},
                        {DNNL_ARG_DIFF_SHIFT, view(dbias_)}};
    if (workspace_.bytes.defined()) arguments.insert({DNNL_ARG_WORKSPACE, workspace_.memory});
    backward_.execute(stream_, arguments);
    stream_.wait();
  }

  LayerAnswer answer() override {
    return {.y = in_contiguous_format(y_),
            .dx = in_contiguous_format(dx_),
            .dweight = dweight_,
            .dbias = dbias_,
            .dresidual = {}};
  }

  void release() override { y_ = dx_ = workspace_ = {}; }

 private:
  Buffer in_own_format(const torch::Tensor& map) {
    const auto contiguous = map.contiguous();
    Buffer buffer(data_desc_);
    auto from = view(contiguous, map_desc(contiguous, Format::nchw));
    dnnl::reorder(from, buffer.memory).execute(stream_, from, buffer.memory);
    stream_.wait();
    return buffer;
  }

  torch::Tensor in_contiguous_format(Buffer& buffer) {
    auto contiguous = at::empty(sizes_);
    auto to = view(contiguous, map_desc(contiguous, Format::nchw));
    dnnl::reorder(buffer.memory, to).execute(stream_, buffer.memory, to);
    stream_.wait();
    return contiguous;
  }

  dnnl::stream stream_;
  torch::Tensor weight_, bias_;
  dnnl::memory::desc data_desc_;
  dnnl::batch_normalization_forward::primitive_desc forward_desc_;
  dnnl::batch_normalization_forward forward_;
  dnnl::batch_normalization_backward backward_;
  std::vector<int64_t> sizes_;
  Buffer x_, dy_, y_, dx_, workspace_;
  torch::Tensor mean_, variance_, dweight_, dbias_;
};

}  // namespace

std::vector<OneDnnContender> onednn_contenders(const LayerTensors& tensors, Fusion fusion) {
  std::vector<OneDnnContender> contenders;
  if (has_residual(fusion)) return contenders;
  const auto add = [&](const char* name, std::unique_ptr<Layer> layer) {
    contenders.push_back({name, std::move(layer)});
  };
  add("nhwc", std::make_unique<Layer>(tensors, fusion, Format::nhwc));
  add("nchw", std::make_unique<Layer>(tensors, fusion, Format::nchw));
  // The block is the instruction set's vector; the other one would run by plain loops.
  auto wide = std::make_unique<Layer>(tensors, fusion, Format::nChw16c);
  if (wide->implementation().find("ref") == std::string::npos) {
    add("nChw16c", std::move(wide));
  } else {
    add("nChw8c", std::make_unique<Layer>(tensors, fusion, Format::nChw8c));
  }
  return contenders;
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace samplenorm::bench
