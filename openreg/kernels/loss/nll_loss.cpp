// The kernels "nll_loss.…" and "nll_loss_backward.…".
#include "kernels/loss/nll_loss.h"

#include <algorithm>
#include <cstring>

#include "kernels/launch/error_text.h"
#include "kernels/loop/block.h"
#include "kernels/loop/convert.h"
#include "kernels/loop/copy_row.h"
#include "kernels/loop/parts.h"
#include "kernels/loop/row.h"

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

/// Which image has a guess. With one image there is no division, which takes longer than all the rest.
int64_t imageOf(const NllLossArgs& args, int64_t number) {
  return args.images == 1 ? 0 : number / args.pixels;
}

/// Cold, so that it stays out of the loop over guesses: with it inside, the rest is not inlined.
__attribute__((cold)) void failOutOfBounds(orKernelContext& context, int64_t target) {
  const ErrorText text = ErrorText() << "Target " << target << " is out of bounds.";
  context.fail(&context, orErrorAssert, text.get());
}

/// A guess by its number, and what is known of it.
template <class C>
class Guess {
 public:
  /// Fails with the device's error if the target is no class, which is the host's mistake.
  Guess(const NllLossArgs& args, int64_t number, int64_t image, orKernelContext& context)
      : args_(args), target_(get<int64_t>(args.target, number)), counts_(target_ != args.ignoreIndex) {
    if (counts_ && (target_ < 0 || target_ >= args.classes)) {
      counts_ = false;
      failOutOfBounds(context, target_);
    }
    const int64_t pixel = number - image * args.pixels;
    offset_ = image * args.input.stride + pixel * args.pixelStride + (counts_ ? target_ * args.classStride : 0);
  }

  /// Whether it has a target that is not to be ignored.
  bool counts() const { return counts_; }
  C weight() const { return args_.weight.data != nullptr ? get<C>(args_.weight, target_) : C(1); }

  /// Bytes to the target's number in `input`.
  int64_t offset() const { return offset_; }

 private:
  const NllLossArgs& args_;
  int64_t target_;
  bool counts_;
  int64_t offset_;
};

/// Sums of some guesses.
struct Sums {
  double loss;
  double weight;
};

template <class C>
void putTotal(const NllLossArgs& args, const Sums& total) {
  const bool isOne = args.reduction != LossReduction::None;
  put(args.totalWeight, 0, static_cast<C>(isOne ? total.weight : 0));
  if (isOne) {
    put(args.loss, 0, static_cast<C>(args.reduction == LossReduction::Mean ? total.loss / total.weight : total.loss));
  }
}

/// Adds up the losses of guesses. Where each is wanted, it is written.
template <class C>
struct AddLosses {
  const NllLossArgs& args;
  orKernelContext& context;

  Sums start() const { return {0, 0}; }
  Sums step(Sums sums, int64_t number) const {
    const Guess<C> guess(args, number, imageOf(args, number), context);
    const C weight = guess.counts() ? guess.weight() : C(0);
    const C loss = guess.counts() ? -get<C>(args.input, 0, guess.offset()) * weight : C(0);
    if (args.reduction == LossReduction::None) {
      put(args.loss, number, loss);
    }
    return join(sums, {loss, weight});
  }
  Sums join(Sums sums, Sums more) const { return {sums.loss + more.loss, sums.weight + more.weight}; }
};

template <class C>
class SumParts : public EachPart<NllLossArgs> {
 public:
  using EachPart::EachPart;
  void operator()(int64_t begin, int64_t end, orKernelContext& context) const {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t first = part * kGuessesOfPart;
      const int64_t last = std::min(args_.guesses(), first + kGuessesOfPart);
      const Sums sums = reduceIndices(AddLosses<C>{args_, context}, first, last);
      if (count() == 1) {
        putTotal<C>(args_, sums);
      } else {
        args_.sums[2 * part] = sums.loss;
        args_.sums[2 * part + 1] = sums.weight;
      }
    }
  }
};

template <class C>
class JoinParts : public AllParts<NllLossArgs> {
 public:
  using AllParts::AllParts;
  void operator()(int64_t /*begin*/, int64_t /*end*/) const {
    Sums total{0, 0};
    for (int64_t part = 0; part < args_.parts(); ++part) {
      total.loss += args_.sums[2 * part];
      total.weight += args_.sums[2 * part + 1];
    }
    putTotal<C>(args_, total);
  }
};

/// Zeros for all classes, in the order in which they lie in memory, rows without gaps between them as one.
class ClearGradients {
 public:
  static const char* refusal(const NllLossArgs& args) { return refusalToCopy(0, elementSize(args.input.dtype)); }
  explicit ClearGradients(const NllLossArgs& args) : args_(args) {
    const bool byClass = args.pixels == 1 || args.classStride < args.pixelStride;
    rows_ = byClass ? args.pixels : args.classes;
    columns_ = byClass ? args.classes : args.pixels;
    rowStride_ = byClass ? args.pixelStride : args.classStride;
    stride_ = byClass ? args.classStride : args.pixelStride;
    if (rowStride_ == columns_ * stride_) {
      columns_ *= rows_;
      rows_ = 1;
    }
  }
  int64_t count() const { return args_.images * rows_ * columns_; }
  void operator()(int64_t begin, int64_t end) const {
    withElementType(elementSize(args_.input.dtype), [&]<class T>(T zero) {
      for (int64_t at = begin; at < end;) {
        const int64_t row = at / columns_, column = at % columns_;
        auto* to = static_cast<char*>(args_.input.data) + row / rows_ * args_.input.stride + row % rows_ * rowStride_;
        const int64_t count = std::min(columns_ - column, end - at);
        copyRow<T>(to + column * stride_, stride_, reinterpret_cast<const char*>(&zero), 0, count);
        at += count;
      }
    });
  }

 private:
  const NllLossArgs& args_;
  int64_t rows_;    ///< Of an image.
  int64_t columns_; ///< Of a row.
  int64_t rowStride_;
  int64_t stride_; ///< From one element of a row to the next.
};

template <class C>
class PutGradients : public LoopOver<NllLossArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.guesses(); }
  void operator()(int64_t begin, int64_t end, orKernelContext& context) const {
    const bool isOne = args_.reduction != LossReduction::None;
    C grad = isOne ? get<C>(args_.loss, 0) : C(0);
    if (args_.reduction == LossReduction::Mean) {
      grad /= get<C>(args_.totalWeight, 0);
    }
    int64_t image = imageOf(args_, begin);
    for (int64_t number = begin; number < end; ++number) {
      image += number == (image + 1) * args_.pixels ? 1 : 0;
      const Guess<C> guess(args_, number, image, context);
      if (guess.counts()) {
        grad = isOne ? grad : get<C>(args_.loss, number);
        put(args_.input, 0, -grad * guess.weight(), guess.offset());
      }
    }
  }
};

template <Name name, class C>
using NllLoss = Phases<name, NllLossArgs, RowKernel<NllLossArgs, SumParts<C>>, LoopKernel<NllLossArgs, JoinParts<C>>>;
template <Name name, class C>
using NllLossBackward =
    Phases<name, NllLossArgs, LoopKernel<NllLossArgs, ClearGradients>, LoopKernel<NllLossArgs, PutGradients<C>>>;

const NllLoss<"nll_loss.float", float> kForward;
const NllLoss<"nll_loss.double", double> kForwardDouble;
const NllLossBackward<"nll_loss_backward.float", float> kBackward;
const NllLossBackward<"nll_loss_backward.double", double> kBackwardDouble;

} // namespace

} // namespace openreg::kernels
