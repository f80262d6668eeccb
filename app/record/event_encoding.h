#pragma once

// TensorBoard's events as bytes: protocol buffers (the messages Event, Summary and SessionLog, of which only a few
// fields are used), each framed as a TFRecord. Written by hand, since two dozen lines replace a code generator and its
// library.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace samplenorm::record {

/// A tag such as "train/loss" and its value.
using Scalar = std::pair<std::string, double>;

/// The first event of a file. `wall_time` is in seconds since 1970.
std::string version_event(double wall_time);
/// Says that a run was begun again at `step`: readers drop what earlier files have from this step on.
std::string restart_event(double wall_time, int64_t step);
std::string scalars_event(double wall_time, int64_t step, const std::vector<Scalar>& scalars);

/// Length, masked CRC of the length, the event, masked CRC of the event.
std::string tf_record(std::string_view event);

}  // namespace samplenorm::record
