// f(z) = z where z > 0, else slope z. The derivative at 0 and at NaN is the slope.
struct LeakyRelu : Formula {
  static constexpr const char* kName = "leaky_relu";
  static constexpr bool kHasParameter = true;
  static constexpr double kDefaultParameter = 0.01;
  static constexpr bool kPiecewiseLinear = true;
  static constexpr double slope(double parameter) { return parameter; }

  template <class M, class V>
  static V value(const M& m, V z, V parameter) {
    return m.select(m.less(m.constant(0), z), z, m.mul(parameter, z));
  }
  template <class M, class V>
  static V derivative(const M& m, V z, V parameter) {
    return m.select(m.less(m.constant(0), z), m.constant(1), parameter);
  }
};
