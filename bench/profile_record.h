#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/profile.h"

namespace samplenorm::bench {

/// "reference", the first norm; "layers", each kind once with its names, count and the times of one of them by norm;
/// "steps", one for each norm: its times, "layers_seconds", their "share" of the step, and what the norm saves of the
/// reference's step, "saved_by_layers" and "saved_by_steps". Times are in seconds, parts from 0 to 1.
nlohmann::json profile_record(const Profile& profile);

}  // namespace samplenorm::bench
