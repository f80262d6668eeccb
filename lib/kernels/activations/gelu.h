// f(z) = z P(z), with the normal distribution's cumulative function P; f' = P + z p, with its density p.
struct Gelu : Formula {
  static constexpr const char* kName = "gelu";

  template <class M, class V>
  static V value(const M& m, V z, V /*parameter*/) {
    return m.mul(z, m.normal_cdf(z));
  }
  template <class M, class V>
  static V derivative(const M& m, V z, V /*parameter*/) {
    constexpr double kDensityAtZero = 0.39894228040143267794;  // 1 / sqrt(2 pi)
    const V density = m.mul(m.constant(kDensityAtZero), m.exp(m.mul(m.constant(-0.5), m.mul(z, z))));
    return m.add(m.normal_cdf(z), m.mul(z, density));
  }
};
