// f(z) = z
struct Identity : Formula {
  static constexpr const char* kName = "identity";
  static constexpr Activation::Kind kKind = Activation::Kind::kIdentity;
  static constexpr bool kPiecewiseLinear = true;

  template <class M, class V>
  static V value(const M& /*m*/, V z, V /*parameter*/) {
    return z;
  }
  template <class M, class V>
  static V derivative(const M& m, V /*z*/, V /*parameter*/) {
    return m.constant(1);
  }
};
