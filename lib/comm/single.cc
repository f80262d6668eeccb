#include "samplenorm/communicator.h"

namespace samplenorm {
namespace {

class SingleProcess : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::shared_ptr<Communicator> duplicate() override { return single_process(); }

 private:
  void do_sum(std::span<double>) override {}
  void do_sum(std::span<float>) override {}
  void do_sum_of(std::span<const int>, std::span<double>) override {}
  void do_broadcast(std::span<std::byte>, int) override {}
};

}  // namespace

std::shared_ptr<Communicator> single_process() { return std::make_shared<SingleProcess>(); }

}  // namespace samplenorm
