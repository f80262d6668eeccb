#include "models/model.h"

#include <torch/torch.h>

#include "models/cifar_resnet.h"
#include "models/densenet.h"
#include "models/mobilenet.h"
#include "models/resnet.h"
#include "models/small_convnet.h"
#include "samplenorm/error.h"

namespace samplenorm::models {
namespace {

using Options = const ModelOptions&;

struct Entry {
  const char* name;
  const char* what;
  int64_t side;
  int64_t parameters;
  std::shared_ptr<Network> (*make)(Options);
};

template <int64_t depth>
std::shared_ptr<Network> cifar_resnet(Options options) {
  return make_cifar_resnet(options, depth);
}

template <int64_t... blocks>
std::shared_ptr<Network> basic_resnet(Options options) {
  return make_basic_resnet(options, {blocks...});
}

template <int64_t... blocks>
std::shared_ptr<Network> bottleneck_resnet(Options options) {
  return make_bottleneck_resnet(options, {blocks...});
}

constexpr Entry kModels[] = {
    {"small", "three convolutions, for a first look", 28, 24'346, make_small_convnet},
    {"resnet8", "ResNet-8 for 32 x 32 images, for quick studies", 32, 75'290, cifar_resnet<8>},
    {"resnet20", "ResNet-20 for 32 x 32 images", 32, 269'722, cifar_resnet<20>},
    {"resnet32", "ResNet-32 for 32 x 32 images", 32, 464'154, cifar_resnet<32>},
    {"resnet44", "ResNet-44 for 32 x 32 images", 32, 658'586, cifar_resnet<44>},
    {"resnet56", "ResNet-56 for 32 x 32 images", 32, 853'018, cifar_resnet<56>},
    {"resnet110", "ResNet-110 for 32 x 32 images", 32, 1'727'962, cifar_resnet<110>},
    {"resnet18", "ResNet-18 for ImageNet", 224, 11'689'512, basic_resnet<2, 2, 2, 2>},
    {"resnet34", "ResNet-34 for ImageNet", 224, 21'797'672, basic_resnet<3, 4, 6, 3>},
    {"resnet50", "ResNet-50 for ImageNet", 224, 25'557'032, bottleneck_resnet<3, 4, 6, 3>},
    {"resnet101", "ResNet-101 for ImageNet", 224, 44'549'160, bottleneck_resnet<3, 4, 23, 3>},
    {"densenet121", "DenseNet-121 for ImageNet", 224, 7'978'856, make_densenet121},
    {"mobilenet_v2", "MobileNetV2 for ImageNet", 224, 3'504'872, make_mobilenet_v2},
};

const Entry& find(const std::string& name) {
  std::string known;
  for (const Entry& entry : kModels) {
    if (name == entry.name) return entry;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw Error("unknown model '" + name + "', expected one of " + known);
}

ModelInfo info_of(const Entry& entry) { return {entry.name, entry.what, entry.side, entry.parameters}; }

void check_at_least_one(const char* what, int64_t number) {
  if (number < 1)
    throw Error("expected a model with at least 1 " + std::string(what) + ", got " + std::to_string(number));
}

void to_channels_last(torch::nn::Module& network) {
  for (auto& parameter : network.parameters())
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
}

}  // namespace

std::vector<ModelInfo> models() {
  std::vector<ModelInfo> all;
  for (const Entry& entry : kModels) all.push_back(info_of(entry));
  return all;
}

ModelInfo model_info(const std::string& name) { return info_of(find(name)); }

std::shared_ptr<Network> make_model(const std::string& name, const ModelOptions& options) {
  const Entry& entry = find(name);
  check_at_least_one("class", options.classes);
  check_at_least_one("channel", options.channels);
  std::shared_ptr<Network> network = entry.make(options);
  to_channels_last(*network);
  return network;
}

}  // namespace samplenorm::models
