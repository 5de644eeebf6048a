// The kernels "pad_reflect", "pad_replicate" and their backward kernels.
#include "kernels/image/pad.h"

#include <vector>

#include "kernels/image/planes.h"
#include "kernels/launch/dtype.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/ivdep.h"
#include "kernels/loop/multiversion.h"

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

/// Elements of a row that come from elements that lie side by side, too.
struct Run {
  int64_t to;
  int64_t from;
  int64_t count;
};

/// Where each row and column of a result comes from.
template <class Border>
struct Sources {
  std::vector<int64_t> depths;
  std::vector<int64_t> heights;
  std::vector<Run> widths;

  explicit Sources(const PadArgs& args) : depths(sources(args, 0)), heights(sources(args, 1)) {
    int64_t to = 0;
    for (const int64_t from : sources(args, 2)) {
      if (!widths.empty() && widths.back().from + widths.back().count == from) {
        ++widths.back().count;
      } else {
        widths.push_back({to, from, 1});
      }
      ++to;
    }
  }

  static std::vector<int64_t> sources(const PadArgs& args, int dim) {
    std::vector<int64_t> found;
    found.reserve(static_cast<size_t>(args.resultSize[dim]));
    for (int64_t at = 0; at < args.resultSize[dim]; ++at) {
      found.push_back(Border::source(at - args.before[dim], args.imageSize[dim]));
    }
    return found;
  }

  /// Calls `use(result, image)` with the numbers of the first elements of each row of a plane and of the row that it
  /// comes from.
  template <class Use>
  void forEachRow(const PadArgs& args, Use use) const {
    int64_t to = 0;
    for (const int64_t depth : depths) {
      for (const int64_t height : heights) {
        use(to, (depth * args.imageSize[1] + height) * args.imageSize[2]);
        to += args.resultSize[2];
      }
    }
  }
};

template <class C>
OPENREG_MULTIVERSION void padRow(const Run* run, const Run* end, const C* image, C* result) {
  for (; run != end; ++run) {
    OPENREG_IVDEP // An image and its result are apart.
    for (int64_t i = 0; i < run->count; ++i) {
      result[run->to + i] = image[run->from + i];
    }
  }
}

template <class C>
OPENREG_MULTIVERSION void padRowBackward(const Run* run, const Run* end, C* image, const C* result) {
  for (; run != end; ++run) {
    OPENREG_IVDEP
    for (int64_t i = 0; i < run->count; ++i) {
      image[run->from + i] += result[run->to + i];
    }
  }
}

template <class C, class Border>
void pad(const PadArgs& args, orKernelContext& context) {
  const Sources<Border> sources(args);
  forEachPlane(context, args.planes, product(args.resultSize), [&](int64_t plane) {
    const C* image = static_cast<const C*>(args.image) + plane * product(args.imageSize);
    C* result = static_cast<C*>(args.result) + plane * product(args.resultSize);
    sources.forEachRow(args, [&](int64_t to, int64_t from) {
      padRow(sources.widths.data(), sources.widths.data() + sources.widths.size(), image + from, result + to);
    });
  });
}

template <class C, class Border>
void padBackward(const PadArgs& args, orKernelContext& context) {
  const Sources<Border> sources(args);
  forEachPlane(context, args.planes, product(args.resultSize), [&](int64_t plane) {
    C* image = static_cast<C*>(args.image) + plane * product(args.imageSize);
    const C* result = static_cast<const C*>(args.result) + plane * product(args.resultSize);
    std::fill_n(image, product(args.imageSize), C(0));
    sources.forEachRow(args, [&](int64_t to, int64_t from) {
      padRowBackward(sources.widths.data(), sources.widths.data() + sources.widths.size(), image + from, result + to);
    });
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

template <Name name, template <class> class Kernel>
using RegisterAll = RegisterTypes<name, PadArgs, Kernel, bool, int64_t, float, double, Complex<float>, Complex<double>>;
template <Name name, template <class> class Kernel>
using RegisterGradients = RegisterTypes<name, PadArgs, Kernel, float, double, Complex<float>, Complex<double>>;

const RegisterAll<"pad_reflect", PadReflect> kReflect;
const RegisterAll<"pad_replicate", PadReplicate> kReplicate;
const RegisterGradients<"pad_reflect_backward", PadReflectBackward> kReflectBackward;
const RegisterGradients<"pad_replicate_backward", PadReplicateBackward> kReplicateBackward;

} // namespace

} // namespace openreg::kernels
