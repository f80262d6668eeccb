#include "train/scores.h"

#include <torch/torch.h>

#include "samplenorm/error.h"

namespace samplenorm::train {

int64_t right_among(const torch::Tensor& logits, const torch::Tensor& labels, int64_t count) {
  const auto likeliest = std::get<1>(logits.topk(std::min(count, logits.size(1)), 1));
  return likeliest.eq(labels.unsqueeze(1)).sum().item<int64_t>();
}

std::optional<Scores> score(const std::function<torch::Tensor(const torch::Tensor&)>& forward, data::Loader& test,
                            const std::function<bool()>& stop_asked) {
  const torch::NoGradGuard no_gradients;
  const auto sum = torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum);
  Scores scores;
  int64_t images = 0;
  test.begin(/*epoch=*/0);
  while (const auto batch = test.next()) {
    if (stop_asked()) return {};
    const auto logits = forward(batch->images);
    scores.loss += torch::nn::functional::cross_entropy(logits, batch->labels, sum).item<double>();
    scores.top1 += static_cast<double>(right_among(logits, batch->labels, 1));
    scores.top5 += static_cast<double>(right_among(logits, batch->labels, 5));
    images += batch->labels.size(0);
  }
  if (images == 0) throw Error("there are no test images to evaluate with");
  for (double* score : {&scores.loss, &scores.top1, &scores.top5}) *score /= static_cast<double>(images);
  return scores;
}

}  // namespace samplenorm::train
