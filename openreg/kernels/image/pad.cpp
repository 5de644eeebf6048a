// The kernels "pad_reflect", "pad_replicate" and their backward kernels.
#include "kernels/image/pad.h"

#include "kernels/image/pad_planes.h"
#include "kernels/launch/dtype.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

template <class Border, class C>
class Pad : public LoopOver<PadArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.planes; }
  int64_t grain() const { return grainOfRows(product(args_.resultSize)); }
  void operator()(int64_t begin, int64_t end) const {
    for (int64_t plane = begin; plane < end; ++plane) {
      const C* image = static_cast<const C*>(args_.image) + plane * product(args_.imageSize);
      padPlane<Border>(args_, image, static_cast<C*>(args_.result) + plane * product(args_.resultSize));
    }
  }
};

template <class Border, class C>
class PadBackward : public Pad<Border, C> {
 public:
  using Pad<Border, C>::Pad;
  void operator()(int64_t begin, int64_t end) const {
    const PadArgs& args = this->args_;
    for (int64_t plane = begin; plane < end; ++plane) {
      const C* result = static_cast<const C*>(args.result) + plane * product(args.resultSize);
      padPlaneBackward<Border>(args, static_cast<C*>(args.image) + plane * product(args.imageSize), result);
    }
  }
};

template <class C>
using PadReflect = Pad<Reflection, C>;
template <class C>
using PadReplicate = Pad<Replication, C>;
template <class C>
using PadReflectBackward = PadBackward<Reflection, C>;
template <class C>
using PadReplicateBackward = PadBackward<Replication, C>;

template <Name name, template <class> class L>
using RegisterAll = RowLoops<name, PadArgs, L, bool, int64_t, float, double, Complex<float>, Complex<double>>;
template <Name name, template <class> class L>
using RegisterGradients = RowLoops<name, PadArgs, L, float, double, Complex<float>, Complex<double>>;

const RegisterAll<"pad_reflect", PadReflect> kReflect;
const RegisterAll<"pad_replicate", PadReplicate> kReplicate;
const RegisterGradients<"pad_reflect_backward", PadReflectBackward> kReflectBackward;
const RegisterGradients<"pad_replicate_backward", PadReplicateBackward> kReplicateBackward;

} // namespace

} // namespace openreg::kernels
