#include "bench/process_contender.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <iostream>

#include "samplenorm/error.h"

namespace samplenorm::bench {
namespace {

constexpr const char* kDone = "done";

class ProcessContender : public StepContender {
 public:
  ProcessContender(const std::string& command, const std::string& argument) : command_(command) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail(std::strerror(errno));
    // What the child may call between fork() and exec() must not allocate.
    const std::string line = fmt::format("exec {} \"$0\"", command);
    process_ = fork();
    if (process_ == 0) {
      if (dup2(ends[1], STDIN_FILENO) >= 0 && dup2(ends[1], STDOUT_FILENO) >= 0)
        execl("/bin/sh", "sh", "-c", line.c_str(), argument.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    socket_ = ends[0];
    if (process_ < 0) {
      close(socket_);
      fail(std::strerror(errno));
    }
  }

  ~ProcessContender() override {
    close(socket_);  // the end of its input
    waitpid(process_, nullptr, 0);
  }

  void forward() override { expect_done("forward"); }
  void backward() override { expect_done("backward"); }
  void release() override { expect_done("release"); }

  double loss() override {
    const std::string answer = ask("loss");
    double loss = 0;
    const auto [end, problem] = std::from_chars(answer.data(), answer.data() + answer.size(), loss);
    if (problem != std::errc() || end != answer.data() + answer.size())
      fail(fmt::format("expected a loss, got '{}'", answer));
    return loss;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw Error(fmt::format("{}: {}", command_, reason)); }

  void expect_done(const char* request) {
    if (const std::string answer = ask(request); answer != kDone)
      fail(fmt::format("expected '{}' in answer to '{}', got '{}'", kDone, request, answer));
  }

  std::string ask(const std::string& request) {
    const std::string line = request + "\n";
    if (send(socket_, line.data(), line.size(), MSG_NOSIGNAL) != std::ssize(line)) ended();
    std::string answer;
    for (char c = 0;;) {
      const ssize_t count = read(socket_, &c, 1);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) ended();
      if (c == '\n') return answer;
      answer += c;
    }
  }

  [[noreturn]] void ended() const { fail("expected an answer, but the process has ended"); }

  std::string command_;
  pid_t process_ = -1;
  int socket_ = -1;
};

}  // namespace

std::unique_ptr<StepContender> process_contender(const std::string& command, const std::string& argument) {
  return std::make_unique<ProcessContender>(command, argument);
}

void serve(StepContender& contender, std::istream& in, std::ostream& out) {
  for (std::string line; std::getline(in, line);) {
    std::string answer = kDone;
    if (line == "forward") {
      contender.forward();
    } else if (line == "backward") {
      contender.backward();
    } else if (line == "release") {
      contender.release();
    } else if (line == "loss") {
      answer = fmt::format("{}", contender.loss());
    } else {
      throw Error(fmt::format("expected forward, backward, release or loss, got '{}'", line));
    }
    out << answer << std::endl;
  }
}

}  // namespace samplenorm::bench
