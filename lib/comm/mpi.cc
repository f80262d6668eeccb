// MPI, which is included here and nowhere else. Its errors are fatal, as MPI has it by default: they end all processes.

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#define OMPI_SKIP_MPICXX  // the C++ bindings, which MPI itself has given up
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include "samplenorm/error.h"
#include "samplenorm/mpi.h"

namespace samplenorm {
namespace {

/// MPI counts in int: longer values go in pieces.
constexpr size_t most_at_once = size_t{1} << 30;

template <typename T, typename Call>
void in_pieces(std::span<T> values, const Call& call) {
  while (!values.empty()) {
    const size_t count = std::min(values.size(), most_at_once);
    call(values.data(), static_cast<int>(count));
    values = values.subspan(count);
  }
}

bool is_running() {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started && !ended;
}

int ranks_on_this_machine_in(MPI_Comm comm) {
  MPI_Comm local;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
  int size = 0;
  MPI_Comm_size(local, &size);
  MPI_Comm_free(&local);
  return size;
}

class MpiRank : public Communicator {
 public:
  MpiRank(MPI_Comm comm, int on_this_machine) : comm_(comm), on_this_machine_(on_this_machine) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
  }
  ~MpiRank() override {
    if (comm_ != MPI_COMM_WORLD && is_running()) MPI_Comm_free(&comm_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int ranks_on_this_machine() const override { return on_this_machine_; }

  std::shared_ptr<Communicator> duplicate() override {
    MPI_Comm copy;
    MPI_Comm_dup(comm_, &copy);
    return std::make_shared<MpiRank>(copy, on_this_machine_);
  }

 private:
  void do_sum(std::span<double> values) override { add(values, MPI_DOUBLE); }
  void do_sum(std::span<float> values) override { add(values, MPI_FLOAT); }

  template <typename T>
  void add(std::span<T> values, MPI_Datatype type) {
    in_pieces(values, [&](T* data, int count) { MPI_Allreduce(MPI_IN_PLACE, data, count, type, MPI_SUM, comm_); });
  }

  void do_sum_of(std::span<const int> contributors, std::span<double> values) override {
    const int collector = contributors.front();
    if (rank_ == collector) {
      std::vector<double> received(values.size());
      for (const int source : contributors.subspan(1)) {
        in_pieces(std::span(received), [&](double* data, int count) {
          MPI_Recv(data, count, MPI_DOUBLE, source, 0, comm_, MPI_STATUS_IGNORE);
        });
        std::ranges::transform(values, received, values.begin(), std::plus());
      }
    } else if (std::ranges::binary_search(contributors, rank_)) {
      in_pieces(values, [&](double* data, int count) { MPI_Send(data, count, MPI_DOUBLE, collector, 0, comm_); });
    }
    do_broadcast(std::as_writable_bytes(values), collector);
  }

  void do_broadcast(std::span<std::byte> bytes, int root) override {
    in_pieces(bytes, [&](std::byte* data, int count) { MPI_Bcast(data, count, MPI_BYTE, root, comm_); });
  }

  MPI_Comm comm_;
  int on_this_machine_;
  int rank_ = 0;
  int size_ = 0;
};

/// The end of MPI waits for all processes. One that fails does not wait: mpirun sees its exit status and ends the
/// others.
void finalize(int exit_status) {
  if (exit_status == EXIT_SUCCESS && is_running()) MPI_Finalize();
}

void finalize_at_exit() {
#ifdef __GLIBC__
  on_exit([](int status, void*) { finalize(status); }, nullptr);
#else
  std::atexit([] { finalize(EXIT_SUCCESS); });
#endif
}

std::shared_ptr<Communicator> start() {
  int running = 0, threads = MPI_THREAD_SINGLE;
  MPI_Initialized(&running);
  if (running) {
    MPI_Query_thread(&threads);
  } else {
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads);
    finalize_at_exit();
  }
  if (threads < MPI_THREAD_MULTIPLE)
    throw Error("this MPI does not let several threads call it at once (MPI_THREAD_MULTIPLE), which is needed here");
  return std::make_shared<MpiRank>(MPI_COMM_WORLD, ranks_on_this_machine_in(MPI_COMM_WORLD));
}

}  // namespace

std::shared_ptr<Communicator> mpi_world() {
  static const auto& world = *new std::shared_ptr<Communicator>(start());
  return world;
}

void mpi_abort(int status) {
  std::fflush(stdout);  // MPI_Abort would lose it
  if (is_running()) MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

}  // namespace samplenorm
