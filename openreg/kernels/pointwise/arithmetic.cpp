// Elementwise kernels: arithmetic of two numbers.
#include "kernels/loop/elementwise.h"

namespace openreg::kernels {

namespace {

template <class C>
struct Add {
  C alpha;
  C operator()(C a, C b) const { return a + alpha * b; }
};

template <class C>
struct Multiply {
  C operator()(C a, C b) const { return a * b; }
};

template <class C>
struct Divide {
  C operator()(C a, C b) const { return a / b; }
};

const Elementwise<"add", Add, bool, int64_t, uint64_t, float, double, Complex<float>, Complex<double>> kAdd;
const Elementwise<"mul", Multiply, bool, int64_t, uint64_t, float, double, Complex<float>, Complex<double>> kMultiply;
const Elementwise<"div", Divide, float, double, Complex<float>, Complex<double>> kDivide;

} // namespace

} // namespace openreg::kernels
