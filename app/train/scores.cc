#include "train/scores.h"

#include <torch/torch.h>

#include <array>
#include <tuple>

#include "samplenorm/error.h"

namespace samplenorm::train {

int64_t right_among(const torch::Tensor& logits, const torch::Tensor& labels, int64_t count) {
  const auto likeliest = std::get<1>(logits.topk(std::min(count, logits.size(1)), 1));
  return likeliest.eq(labels.unsqueeze(1)).sum().item<int64_t>();
}

std::optional<Scores> score(const std::function<torch::Tensor(const torch::Tensor&)>& forward, data::Loader& test,
                            const std::function<bool()>& stop_asked,
                            const std::shared_ptr<Communicator>& communicator) {
  const torch::NoGradGuard no_gradients;
  const auto sum = torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum);
  double loss = 0, top1 = 0, top5 = 0, images = 0, stopped = 0;
  test.begin(/*epoch=*/0);
  while (const auto batch = test.next()) {
    if (stop_asked()) {
      stopped = 1;
      break;
    }
    if (batch->labels.size(0) == 0) continue;  // a small batch has nothing for this process
    const auto logits = forward(batch->images);
    loss += torch::nn::functional::cross_entropy(logits, batch->labels, sum).item<double>();
    top1 += static_cast<double>(right_among(logits, batch->labels, 1));
    top5 += static_cast<double>(right_among(logits, batch->labels, 5));
    images += static_cast<double>(batch->labels.size(0));
  }
  std::array sums{loss, top1, top5, images, stopped};
  communicator->sum(std::span<double>(sums));
  std::tie(loss, top1, top5, images, stopped) = std::tuple_cat(sums);
  if (stopped > 0) return {};
  if (images == 0) throw Error("there are no test images to evaluate with");
  return Scores{loss / images, top1 / images, top5 / images};
}

}  // namespace samplenorm::train
