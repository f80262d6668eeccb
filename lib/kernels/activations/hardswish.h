// f(z) = z min(max(z + 3, 0), 6) / 6. The derivative is 0 at -3 and 1 at 3.
struct Hardswish : Formula {
  static constexpr const char* kName = "hardswish";

  template <class M, class V>
  static V value(const M& m, V z, V /*parameter*/) {
    const V zero = m.constant(0), three = m.constant(3), six = m.constant(6);
    const V inside = m.div(m.add(z, three), six);
    const V gate = m.select(m.less_equal(three, z), m.constant(1), inside);
    return m.mul(z, m.select(m.less_equal(z, m.neg(three)), zero, gate));
  }
  template <class M, class V>
  static V derivative(const M& m, V z, V /*parameter*/) {
    const V three = m.constant(3);
    const V inside = m.add(m.div(z, three), m.constant(0.5));
    const V upper = m.select(m.less_equal(three, z), m.constant(1), inside);
    return m.select(m.less_equal(z, m.neg(three)), m.constant(0), upper);
  }
};
