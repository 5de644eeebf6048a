// Elementwise kernels of three numbers: lerp, addcmul and addcdiv.
#include "kernels/loop/convert.h"
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

/// The way from `start` to `end`, from whichever of them is nearer: so a weight of 1 gives `end` itself.
template <class C>
C lerp(C start, C end, C weight) {
  bool nearStart = false;
  if constexpr (kIsComplex<C>) {
    nearStart = std::norm(weight) < typename C::value_type(0.25);
  } else {
    nearStart = weight < C(0.5) && weight > C(-0.5);
  }
  return nearStart ? start + weight * (end - start) : end - (end - start) * (C(1) - weight);
}

template <class C>
struct LerpTensor {
  C operator()(C start, C end, C weight) const { return lerp(start, end, weight); }
};
const ElementwiseOf<"lerp_tensor", LerpTensor, FloatsAndComplex> kLerpTensor;

template <class C>
struct LerpScalar {
  C weight;
  C operator()(C start, C end) const { return lerp(start, end, weight); }
};
const ElementwiseOf<"lerp_scalar", LerpScalar, FloatsAndComplex> kLerpScalar;

template <class C>
struct AddProduct {
  C value;
  C operator()(C a, C b, C c) const { return a + value * b * c; }
};
const ElementwiseOf<"addcmul", AddProduct, Numbers> kAddProduct;

template <class C>
struct AddQuotient {
  C value;
  C operator()(C a, C b, C c) const { return a + value * b / c; }
};
const ElementwiseOf<"addcdiv", AddQuotient, FloatsAndComplex> kAddQuotient;

} // namespace

} // namespace openreg::kernels
