// f(z) = z where z > 0, else alpha (e^z - 1). The derivative at 0 is alpha.
struct Elu : Formula {
  static constexpr const char* kName = "elu";
  static constexpr bool kHasParameter = true;
  static constexpr double kDefaultParameter = 1;

  template <class M, class V>
  static V value(const M& m, V z, V parameter) {
    return m.select(m.less(z, m.constant(0)), m.mul(parameter, m.expm1(z)), z);
  }
  template <class M, class V>
  static V derivative(const M& m, V z, V parameter) {
    return m.select(m.less(m.constant(0), z), m.constant(1), m.mul(parameter, m.exp(z)));
  }
};
