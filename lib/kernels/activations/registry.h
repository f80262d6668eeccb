// All activations. A new one is a file, which is included here, and an entry in the list. Included within a namespace.

#include "kernels/activations/elu.h"
#include "kernels/activations/gelu.h"
#include "kernels/activations/gelu_tanh.h"
#include "kernels/activations/hardswish.h"
#include "kernels/activations/identity.h"
#include "kernels/activations/leaky_relu.h"
#include "kernels/activations/relu.h"
#include "kernels/activations/relu6.h"
#include "kernels/activations/silu.h"

#undef SAMPLENORM_FOR_EACH_ACTIVATION
#define SAMPLENORM_FOR_EACH_ACTIVATION(DO) \
  DO(Identity)                             \
  DO(Relu)                                 \
  DO(Relu6)                                \
  DO(LeakyRelu)                            \
  DO(Elu)                                  \
  DO(Silu)                                 \
  DO(Hardswish)                            \
  DO(Gelu)                                 \
  DO(GeluTanh)
