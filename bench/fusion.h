#pragma once

namespace samplenorm::bench {

/// What follows the normalization in the same call.
enum class Fusion { kNone, kRelu, kAddRelu };

inline constexpr Fusion kFusions[] = {Fusion::kNone, Fusion::kRelu, Fusion::kAddRelu};

inline constexpr bool has_relu(Fusion fusion) { return fusion != Fusion::kNone; }
inline constexpr bool has_residual(Fusion fusion) { return fusion == Fusion::kAddRelu; }

inline constexpr const char* name_of(Fusion fusion) {
  switch (fusion) {
    case Fusion::kNone:
      return "BN";
    case Fusion::kRelu:
      return "BN+ReLU";
    case Fusion::kAddRelu:
      return "BN+add+ReLU";
  }
  return "";
}

}  // namespace samplenorm::bench
