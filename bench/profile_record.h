#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/profile.h"
#include "bench/profile_prediction.h"

namespace samplenorm::bench {

/// "reference", the first norm; "layers", each kind once with its names, count and the times of one of them by norm;
/// "steps", one for each norm: its times, "layers_seconds", their "share" of the step, and what the norm saves of the
/// reference's step, "saved_by_layers" and "saved_by_steps". Times are in seconds, parts from 0 to 1. The "bytes" of a
/// layer are counted (bytes_of()), and missing where they are not known.
nlohmann::json profile_record(const Profile& profile);

/// The "model" and its "assumptions" in words, the machine, and for each of "norms" the predicted step, its parts, the
/// layers' "share" and the "speed" against the reference; null where a norm's bytes are not known. "check": the same of
/// the threads here, with what was measured and the prediction's relative "error"; null without one.
nlohmann::json prediction_record(const Profile& profile, const Machine& machine, const PredictionCheck* check);

}  // namespace samplenorm::bench
