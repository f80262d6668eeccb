// f(z) = min(max(z, 0), 6). NaN passes, forward and backward (in torch backward it depends on its place in memory).
struct Relu6 : Formula {
  static constexpr const char* kName = "relu6";
  static constexpr Activation::Kind kKind = Activation::Kind::kRelu;
  static constexpr bool kPiecewiseLinear = true;
  static constexpr double kLimit = 6;

  template <class M, class V>
  static V value(const M& m, V z, V /*parameter*/) {
    const V zero = m.constant(0), six = m.constant(6);
    return m.select(m.less_equal(z, zero), zero, m.select(m.less_equal(six, z), six, z));
  }
  template <class M, class V>
  static V derivative(const M& m, V z, V /*parameter*/) {
    const V zero = m.constant(0), six = m.constant(6);
    return m.select(m.less_equal(z, zero), zero, m.select(m.less_equal(six, z), zero, m.constant(1)));
  }
};
