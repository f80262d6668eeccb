#pragma once

// A training step in another process: the same network in Python, or this program with another allocator. Both ends
// speak in lines: the program writes "forward", "backward", "release" or "loss", the other does so and answers with
// "done", or with the loss. A call takes a round trip of a socket more than its work, some hundredths of a millisecond.

#include <iosfwd>
#include <memory>
#include <string>

#include "bench/network_contenders.h"

namespace samplenorm::bench {

/// Starts `command` (as the shell reads it), with `argument` behind it, and ends it with the contender. Throws Error,
/// and so does each of its calls where the process does not answer as it should.
std::unique_ptr<StepContender> process_contender(const std::string& command, const std::string& argument);

/// The other end: does what the lines of `in` ask for until they end. Throws Error for a line that asks for anything
/// else.
void serve(StepContender& contender, std::istream& in, std::ostream& out);

}  // namespace samplenorm::bench
