#pragma once

#include "core/float16.h"

/// The one list of activation types: DO(T, name) for each of them, `name` being torch's name of the type.
#define SAMPLENORM_FOR_EACH_TYPE(DO)   \
  DO(float, Float)                     \
  DO(double, Double)                   \
  DO(::samplenorm::BFloat16, BFloat16) \
  DO(::samplenorm::Float16, Half)
