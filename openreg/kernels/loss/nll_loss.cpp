// The kernels "nll_loss.…" and "nll_loss_backward.…".
#include "kernels/loss/nll_loss.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "kernels/launch/registry.h"
#include "kernels/loop/block.h"
#include "kernels/loop/convert.h"
#include "kernels/loop/element.h"
#include "kernels/loop/functor.h"

namespace openreg::kernels {

namespace {

template <class C>
C get(const Vector& vector, int64_t i, int64_t offset = 0) {
  C value;
  const char* from = static_cast<const char*>(vector.data) + i * vector.stride + offset;
  if (vector.dtype == kDTypeOf<C>) { // a call that looks at the type takes ten times as long as reading
    std::memcpy(&value, from, sizeof(C));
  } else {
    load(vector.dtype, from, 0, 1, &value);
  }
  return value;
}

template <class C>
void put(const Vector& vector, int64_t i, C value, int64_t offset = 0) {
  char* to = static_cast<char*>(vector.data) + i * vector.stride + offset;
  if (vector.dtype == kDTypeOf<C>) {
    std::memcpy(to, &value, sizeof(C));
  } else {
    store(vector.dtype, to, 0, 1, &value);
  }
}

template <class C>
C weightOf(const NllLossArgs& args, int64_t target) {
  return args.weight.data != nullptr ? get<C>(args.weight, target) : C(1);
}

/// Some pixels of an image.
struct Pixels {
  int64_t first; ///< Number of the first guess.
  int64_t count;
  int64_t offset; ///< Bytes from the start of `input` to the first class of the first.
};

/// Calls `use(pixels)` for what of each image is among the guesses [begin, end).
template <class Use>
void forImages(const NllLossArgs& args, int64_t begin, int64_t end, Use use) {
  int64_t image = begin / std::max(int64_t{1}, args.pixels);
  for (int64_t at = begin; at < end; ++image) {
    const int64_t pixel = at - image * args.pixels;
    const int64_t count = std::min(end - at, args.pixels - pixel);
    use(Pixels{at, count, image * args.input.stride + pixel * args.pixelStride});
    at += count;
  }
}

/// Calls `use(guess, target, offset)` for each guess, with the place of its first class; stops at a target that is no
/// class, which is the host's mistake and an error of the device.
template <class Use>
void forGuesses(const NllLossArgs& args, const Pixels& pixels, orKernelContext& context, Use use) {
  for (int64_t i = 0; i < pixels.count; ++i) {
    const auto target = get<int64_t>(args.target, pixels.first + i);
    if (target != args.ignoreIndex && (target < 0 || target >= args.classes)) {
      char text[64];
      std::snprintf(text, sizeof(text), "Target %lld is out of bounds.", static_cast<long long>(target));
      return context.fail(&context, orErrorAssert, text);
    }
    use(pixels.first + i, target, pixels.offset + i * args.pixelStride);
  }
}

template <class C>
struct Forward {
  void operator()(const NllLossArgs& args, orKernelContext& context) const {
    double sum = 0;
    double totalWeight = 0;
    const auto add = [&](int64_t guess, int64_t target, int64_t offset) {
      const bool counts = target != args.ignoreIndex;
      const C weight = counts ? weightOf<C>(args, target) : C(0);
      const C loss = counts ? -get<C>(args.input, 0, offset + target * args.classStride) * weight : C(0);
      sum += loss;
      totalWeight += weight;
      if (args.reduction == LossReduction::None) {
        put(args.loss, guess, loss);
      }
    };
    forImages(
        args, 0, args.images * args.pixels, [&](const Pixels& pixels) { forGuesses(args, pixels, context, add); });
    put(args.totalWeight, 0, static_cast<C>(args.reduction == LossReduction::None ? 0 : totalWeight));
    if (args.reduction != LossReduction::None) {
      put(args.loss, 0, static_cast<C>(args.reduction == LossReduction::Mean ? sum / totalWeight : sum));
    }
  }
};

template <class C>
struct Backward {
  void operator()(const NllLossArgs& args, orKernelContext& context) const {
    struct Loop {
      const NllLossArgs& args;
      orKernelContext& context;
    } loop{args, context};
    context.parallelFor(
        &context, args.images * args.pixels, kGrain / std::max(int64_t{1}, args.classes) + 1,
        [](void* state, int64_t begin, int64_t end) {
          const auto& [args, context] = *static_cast<Loop*>(state);
          forImages(args, begin, end, [&](const Pixels& pixels) { derive(args, pixels, context); });
        },
        &loop);
  }

  static void derive(const NllLossArgs& args, const Pixels& pixels, orKernelContext& context) {
    clear(args, pixels);
    forGuesses(args, pixels, context, [&](int64_t guess, int64_t target, int64_t offset) {
      if (target == args.ignoreIndex) {
        return;
      }
      C grad = get<C>(args.loss, args.reduction == LossReduction::None ? guess : 0);
      if (args.reduction == LossReduction::Mean) {
        grad /= get<C>(args.totalWeight, 0);
      }
      put(args.input, 0, -grad * weightOf<C>(args, target), offset + target * args.classStride);
    });
  }

  /// Zeros for all classes, in the order in which they lie in memory.
  static void clear(const NllLossArgs& args, const Pixels& pixels) {
    const bool byClass = pixels.count == 1 || args.classStride < args.pixelStride;
    const int64_t rows = byClass ? pixels.count : args.classes;
    const int64_t columns = byClass ? args.classes : pixels.count;
    const int64_t rowStride = byClass ? args.pixelStride : args.classStride;
    const int64_t stride = byClass ? args.classStride : args.pixelStride;
    auto* to = static_cast<char*>(args.input.data) + pixels.offset;
    const C zeros[kBlock] = {};
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < columns; i += kBlock) {
        store(args.input.dtype, to + row * rowStride + i * stride, stride, std::min(kBlock, columns - i), zeros);
      }
    }
  }
};

const RegisterTypes<"nll_loss", NllLossArgs, Forward, float, double> kForward;
const RegisterTypes<"nll_loss_backward", NllLossArgs, Backward, float, double> kBackward;

} // namespace

} // namespace openreg::kernels
