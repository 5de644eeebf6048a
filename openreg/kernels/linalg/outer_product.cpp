// Elementwise kernel: addr, a matrix plus the outer product of two vectors.
#include "kernels/loop/convert.h"
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

template <class C>
struct AddOuterProduct {
  C beta;
  C alpha;
  C operator()(C matrix, C column, C row) const {
    const C product = alpha * column * row;
    return beta == C(0) ? product : beta * matrix + product; // times 0, what is no number would stay none
  }
};
const ElementwiseOf<"addr", AddOuterProduct, NumbersAndBool> kAddOuterProduct;

} // namespace

} // namespace openreg::kernels
