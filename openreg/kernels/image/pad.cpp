// The kernels "pad_reflect", "pad_replicate" and their backward kernels.
#include "kernels/image/pad.h"

#include <vector>

#include "kernels/image/planes.h"
#include "kernels/launch/dtype.h"
#include "kernels/launch/registry.h"

namespace openreg::kernels {

namespace {

/// As in a mirror at the first and last element, which are not repeated.
struct Reflection {
  static int64_t source(int64_t at, int64_t size) {
    if (at < 0) {
      at = -at;
    }
    return at >= size ? 2 * (size - 1) - at : at;
  }
};

/// The nearest element.
struct Replication {
  static int64_t source(int64_t at, int64_t size) { return std::clamp(at, int64_t{0}, size - 1); }
};

/// Where each row and column of a result comes from.
template <class Border>
struct Sources {
  std::vector<int64_t> of[3];

  explicit Sources(const PadArgs& args) {
    for (int i = 0; i < 3; ++i) {
      for (int64_t at = 0; at < args.resultSize[i]; ++at) {
        of[i].push_back(Border::source(at - args.before[i], args.imageSize[i]));
      }
    }
  }

  /// Calls `use(result, image)` with the numbers of each element of a plane and of the one that it comes from.
  template <class Use>
  void forEach(const Extent& imageSize, Use use) const {
    int64_t to = 0;
    for (const int64_t d : of[0]) {
      for (const int64_t h : of[1]) {
        const int64_t row = (d * imageSize[1] + h) * imageSize[2];
        for (const int64_t w : of[2]) {
          use(to++, row + w);
        }
      }
    }
  }
};

template <class C, class Border>
void pad(const PadArgs& args, orKernelContext& context) {
  const Sources<Border> sources(args);
  forEachPlane(context, args.planes, product(args.resultSize), [&](int64_t plane) {
    const C* image = static_cast<const C*>(args.image) + plane * product(args.imageSize);
    C* result = static_cast<C*>(args.result) + plane * product(args.resultSize);
    sources.forEach(args.imageSize, [&](int64_t to, int64_t from) { result[to] = image[from]; });
  });
}

template <class C, class Border>
void padBackward(const PadArgs& args, orKernelContext& context) {
  const Sources<Border> sources(args);
  forEachPlane(context, args.planes, product(args.resultSize), [&](int64_t plane) {
    C* image = static_cast<C*>(args.image) + plane * product(args.imageSize);
    const C* result = static_cast<const C*>(args.result) + plane * product(args.resultSize);
    std::fill_n(image, product(args.imageSize), C(0));
    sources.forEach(args.imageSize, [&](int64_t from, int64_t to) { image[to] += result[from]; });
  });
}

template <class C>
struct PadReflect {
  void operator()(const PadArgs& args, orKernelContext& context) const { pad<C, Reflection>(args, context); }
};
template <class C>
struct PadReplicate {
  void operator()(const PadArgs& args, orKernelContext& context) const { pad<C, Replication>(args, context); }
};
template <class C>
struct PadReflectBackward {
  void operator()(const PadArgs& args, orKernelContext& context) const { padBackward<C, Reflection>(args, context); }
};
template <class C>
struct PadReplicateBackward {
  void operator()(const PadArgs& args, orKernelContext& context) const { padBackward<C, Replication>(args, context); }
};

template <template <class> class Kernel>
using RegisterAll = RegisterTypes<PadArgs, Kernel, bool, int64_t, float, double, Complex<float>, Complex<double>>;
template <template <class> class Kernel>
using RegisterGradients = RegisterTypes<PadArgs, Kernel, float, double, Complex<float>, Complex<double>>;

const RegisterAll<PadReflect> kReflect("pad_reflect");
const RegisterAll<PadReplicate> kReplicate("pad_replicate");
const RegisterGradients<PadReflectBackward> kReflectBackward("pad_reflect_backward");
const RegisterGradients<PadReplicateBackward> kReplicateBackward("pad_replicate_backward");

} // namespace

} // namespace openreg::kernels
