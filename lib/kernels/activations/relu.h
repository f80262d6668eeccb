// f(z) = max(z, 0). NaN passes, forward and backward.
struct Relu : Formula {
  static constexpr const char* kName = "relu";
  static constexpr Activation::Kind kKind = Activation::Kind::kRelu;
  static constexpr bool kPiecewiseLinear = true;

  template <class M, class V>
  static V value(const M& m, V z, V /*parameter*/) {
    const V zero = m.constant(0);
    return m.select(m.less_equal(z, zero), zero, z);
  }
  template <class M, class V>
  static V derivative(const M& m, V z, V /*parameter*/) {
    const V zero = m.constant(0);
    return m.select(m.less_equal(z, zero), zero, m.constant(1));
  }
};
