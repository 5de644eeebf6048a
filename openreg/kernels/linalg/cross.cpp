// Elementwise kernel: one component of a cross product.
#include "kernels/loop/convert.h"
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

template <class C>
struct CrossComponent {
  C operator()(C a, C b, C c, C d) const { return a * b - c * d; }
};
const ElementwiseOf<"cross", CrossComponent, Numbers> kCross;

} // namespace

} // namespace openreg::kernels
