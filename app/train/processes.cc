#include "train/processes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>
#include <zlib.h>

#include <array>
#include <bit>
#include <cmath>

#include "samplenorm/error.h"

namespace samplenorm::train {
namespace {

/// The tensor's own memory, which lies in the same order on every rank.
std::span<std::byte> bytes_of(const torch::Tensor& tensor) {
  if (!tensor.is_non_overlapping_and_dense()) throw Error("only dense tensors can be shared by processes");
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

std::vector<torch::Tensor> running_statistics(const torch::nn::Module& network) {
  std::vector<torch::Tensor> all;
  for (const auto& item : network.named_buffers())
    if (item.value().defined() && item.value().is_floating_point()) all.push_back(item.value());
  return all;
}

uint32_t digest_of(const torch::nn::Module& network) {
  uLong crc = crc32_z(0, nullptr, 0);
  for (const torch::Tensor& parameter : network.parameters()) {
    const auto bytes = bytes_of(parameter);
    if (!bytes.empty()) crc = crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  }
  return static_cast<uint32_t>(crc);
}

/// Every rank's value, by rank.
std::vector<double> gather(Communicator& communicator, double own) {
  std::vector<double> all(static_cast<size_t>(communicator.size()));
  all[static_cast<size_t>(communicator.rank())] = own;
  communicator.sum(std::span(all));
  return all;
}

}  // namespace

RegisteredCommunicator::RegisteredCommunicator(const std::shared_ptr<Communicator>& communicator)
    : name_(fmt::format("samplenorm train, rank {}", communicator->rank())) {
  register_communicator(name_, communicator);
}

RegisteredCommunicator::~RegisteredCommunicator() { register_communicator(name_, nullptr); }

StepSums sum_over(Communicator& communicator, const StepSums& own) {
  auto values = std::bit_cast<std::array<double, sizeof(StepSums) / sizeof(double)>>(own);
  communicator.sum(std::span<double>(values));
  return std::bit_cast<StepSums>(values);
}

std::string broadcast_text(Communicator& communicator, const std::string& text, int root) {
  auto size = static_cast<uint64_t>(text.size());
  communicator.broadcast(std::as_writable_bytes(std::span(&size, 1)), root);
  std::string same = text;
  same.resize(size);
  communicator.broadcast(std::as_writable_bytes(std::span(same)), root);
  return same;
}

void broadcast_state(Communicator& communicator, const torch::nn::Module& network, const Sgd& optimizer,
                     EpochSums& sums) {
  for (const torch::Tensor& parameter : network.parameters()) communicator.broadcast(bytes_of(parameter), 0);
  for (const torch::Tensor& buffer : network.buffers())
    if (buffer.defined()) communicator.broadcast(bytes_of(buffer), 0);
  for (const auto& slot : optimizer.slots()) communicator.broadcast(bytes_of(slot.velocity), 0);
  broadcast_value(communicator, sums);
}

std::optional<std::string> first_of(Communicator& communicator, const std::optional<std::string>& own) {
  const auto have = gather(communicator, own ? 1 : 0);
  for (size_t rank = 0; rank < have.size(); ++rank)
    if (have[rank] > 0) return broadcast_text(communicator, own.value_or(""), static_cast<int>(rank));
  return {};
}

void average_running_statistics(Communicator& communicator, const torch::nn::Module& network) {
  const auto statistics = running_statistics(network);
  if (communicator.size() == 1 || statistics.empty()) return;
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& tensor : statistics) parts.push_back(tensor.to(torch::kDouble).flatten());
  auto all = torch::cat(parts);
  communicator.sum(std::span(all.data_ptr<double>(), static_cast<size_t>(all.numel())));
  all /= communicator.size();
  int64_t begin = 0;
  for (torch::Tensor tensor : statistics) {
    tensor.copy_(all.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
    begin += tensor.numel();
  }
}

Traffic mean_over(Communicator& communicator, const Traffic& own) {
  std::array sums{static_cast<double>(own.collectives), static_cast<double>(own.bytes)};
  communicator.sum(std::span<double>(sums));
  const auto mean = [&](double sum) { return std::llround(sum / communicator.size()); };
  return {mean(sums[0]), mean(sums[1])};
}

void check_same_weights(Communicator& communicator, const torch::nn::Module& network) {
  if (communicator.size() == 1) return;
  const auto digests = gather(communicator, digest_of(network));
  std::vector<size_t> others;
  for (size_t rank = 1; rank < digests.size(); ++rank)
    if (digests[rank] != digests[0]) others.push_back(rank);
  if (!others.empty())
    throw Error(fmt::format("the weights of rank {} are not those of rank 0 any more, to the last bit",
                            fmt::join(others, ", ")));
}

}  // namespace samplenorm::train
