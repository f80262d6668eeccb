// f(z) = z (1 + tanh(u)) / 2 with u = sqrt(2/pi) (z + 0.044715 z^3), torch's approximate="tanh". (1 + tanh(u)) / 2 is
// the sigmoid s of 2u, which keeps its digits where tanh(u) is about -1. f' = s + z (2u)' s (1 - s).
struct GeluTanh : Formula {
  static constexpr const char* kName = "gelu(tanh)";
  static constexpr double kLinear = 1.59576912160573071176;  // 2 sqrt(2 / pi)
  static constexpr double kCubic = 0.044715 * kLinear;

  template <class M, class V>
  static V value(const M& m, V z, V /*parameter*/) {
    const V two_u = m.mul(z, m.add(m.constant(kLinear), m.mul(m.constant(kCubic), m.mul(z, z))));
    return m.div(z, m.add(m.constant(1), m.exp(m.neg(two_u))));
  }
  template <class M, class V>
  static V derivative(const M& m, V z, V /*parameter*/) {
    const V one = m.constant(1), square = m.mul(m.constant(kCubic), m.mul(z, z));
    const V two_u = m.mul(z, m.add(m.constant(kLinear), square));
    const V slope = m.add(m.constant(kLinear), m.mul(m.constant(3), square));
    const V s = m.div(one, m.add(one, m.exp(m.neg(two_u))));
    return m.add(s, m.mul(m.mul(z, m.mul(s, m.sub(one, s))), slope));
  }
};
