// The kernels "unfold" and "fold".
#include "kernels/image/im2col.h"

#include "kernels/image/columns.h"
#include "kernels/image/planes.h"
#include "kernels/launch/dtype.h"
#include "kernels/launch/registry.h"

namespace openreg::kernels {

namespace {

template <class C>
struct Unfold {
  void operator()(const UnfoldArgs& args, orKernelContext& context) const {
    const int64_t positions = product(args.window.result);
    const int64_t elements = product(args.window.size) * positions;
    forEachPlane(context, args.planes, elements, [&](int64_t plane) {
      const C* image = static_cast<const C*>(args.image) + plane * product(args.window.image);
      unfold(args.window, image, 1, 0, positions, static_cast<C*>(args.matrix) + plane * elements, positions);
    });
  }
};

template <class C>
struct Fold {
  void operator()(const UnfoldArgs& args, orKernelContext& context) const {
    const int64_t positions = product(args.window.result);
    const int64_t elements = product(args.window.size) * positions;
    forEachPlane(context, args.planes, elements, [&](int64_t plane) {
      C* image = static_cast<C*>(args.image) + plane * product(args.window.image);
      std::fill_n(image, product(args.window.image), C(0));
      fold(args.window, image, 1, 0, positions, static_cast<const C*>(args.matrix) + plane * elements, positions);
    });
  }
};

const RegisterTypes<"unfold", UnfoldArgs, Unfold, bool, float, double, Complex<float>, Complex<double>> kUnfold;
const RegisterTypes<"fold", UnfoldArgs, Fold, bool, float, double, Complex<float>, Complex<double>> kFold;

} // namespace

} // namespace openreg::kernels
