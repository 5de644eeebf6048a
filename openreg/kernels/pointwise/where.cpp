// The elementwise kernel "where".
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

template <class C>
struct Where {
  C operator()(bool condition, C a, C b) const { return condition ? a : b; }
};
const ElementwiseOf<"where", Where, NumbersAndBool> kWhere;

} // namespace

} // namespace openreg::kernels
