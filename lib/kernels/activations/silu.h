// f(z) = z s(z), with the sigmoid s(z) = 1 / (1 + e^-z); f' = s (1 + z (1 - s)).
struct Silu : Formula {
  static constexpr const char* kName = "silu";

  template <class M, class V>
  static V value(const M& m, V z, V /*parameter*/) {
    return m.div(z, m.add(m.constant(1), m.exp(m.neg(z))));
  }
  template <class M, class V>
  static V derivative(const M& m, V z, V /*parameter*/) {
    const V one = m.constant(1);
    const V s = m.div(one, m.add(one, m.exp(m.neg(z))));
    return m.mul(s, m.add(one, m.mul(z, m.sub(one, s))));
  }
};
