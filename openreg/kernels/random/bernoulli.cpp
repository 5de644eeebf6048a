// The kernels "bernoulli" (one probability), "bernoulli_tensor" (one for each element) and "dropout".
#include <atomic>

#include "kernels/random/draw.h"

namespace openreg::kernels {

namespace {

/// A coin that shows 1 with a probability: for so many of the 2^32 random words.
class Coin {
 public:
  explicit Coin(double p)
      : last_(static_cast<uint32_t>(static_cast<uint64_t>(p * 0x1p32) - 1)), any_(p * 0x1p32 >= 1) {}
  bool operator()(uint32_t bits) const { return (bits <= last_) & any_; }

 private:
  uint32_t last_; ///< The last word that shows 1, if there are any.
  bool any_;
};

struct Bernoulli : BernoulliParameters {
  using Value = float;
  using Bits = uint32_t;
  void operator()(int64_t count, const Bits* bits, float* values) const {
    const Coin coin(p);
    for (int64_t i = 0; i < count; ++i) {
      values[i] = coin(bits[i]) ? 1 : 0;
    }
  }
};

const Draw<Bernoulli> bernoulli("bernoulli");

/// The arguments of a launch, and what goes wrong in one of the threads.
struct Shared {
  const StridedArgs& args;
  std::atomic<bool> failed{false};
};

void bernoulliTensorLoop(void* state, int64_t begin, int64_t end) {
  auto& shared = *static_cast<Shared*>(state);
  const StridedArgs& args = shared.args;
  const auto parameters = parametersOf<BernoulliTensorParameters>(args);
  Cursor outCursor(args, 0, begin * kPerBlock<uint32_t>);
  Cursor inCursor(args, 1, begin * kPerBlock<uint32_t>);
  double p[kRun<uint32_t>];
  float values[kRun<uint32_t>];
  eachRun<uint32_t>(parameters.numbers, args.elements(), begin, end, [&](int64_t count, const uint32_t* bits) {
    readNext(args.operand(1), inCursor, count, p);
    bool good = true;
    for (int64_t i = 0; i < count; ++i) {
      const bool isProbability = p[i] >= 0 && p[i] <= 1; // NaN is none
      good = good && isProbability;
      values[i] = Coin(isProbability ? p[i] : 0)(bits[i]) ? 1 : 0;
    }
    if (!good) {
      shared.failed.store(true, std::memory_order_relaxed);
    }
    writeNext(args.operand(0), outCursor, count, values);
  });
}

void bernoulliTensorRun(const void* bytes, orKernelContext* context) {
  Shared shared{*static_cast<const StridedArgs*>(bytes)};
  if (!checkOperands(shared.args, 2, context)) {
    return;
  }
  forBlocks<uint32_t>(shared.args, context, &bernoulliTensorLoop, &shared);
  if (shared.failed.load(std::memory_order_relaxed)) {
    context->fail(context, orErrorAssert, "argument 'p' has an element that is not in [0, 1]");
  }
}

template <class C>
struct Dropout {
  static void run(const void* bytes, orKernelContext* context) {
    const auto& args = *static_cast<const StridedArgs*>(bytes);
    if (checkOperands(args, 3, context)) {
      forBlocks<uint32_t>(args, context, &loop, bytes);
    }
  }

  static void loop(void* state, int64_t begin, int64_t end) {
    const auto& args = *static_cast<const StridedArgs*>(state);
    const auto parameters = parametersOf<DropoutParameters>(args);
    const Coin coin(parameters.keep);
    const auto scale = static_cast<C>(parameters.scale);
    constexpr int kEach = kPerBlock<uint32_t>;
    Cursor outCursor(args, 0, begin * kEach);
    Cursor maskCursor(args, 1, begin * kEach);
    Cursor inCursor(args, 2, begin * kEach);
    C values[kRun<uint32_t>];
    bool mask[kRun<uint32_t>];
    eachRun<uint32_t>(parameters.numbers, args.elements(), begin, end, [&](int64_t count, const uint32_t* bits) {
      readNext(args.operand(2), inCursor, count, values);
      for (int64_t i = 0; i < count; ++i) {
        mask[i] = coin(bits[i]);
        values[i] *= mask[i] ? scale : C(0); // a product, so that what is not a number stays visible
      }
      writeNext(args.operand(0), outCursor, count, values);
      writeNext(args.operand(1), maskCursor, count, mask);
    });
  }
};

[[maybe_unused]] const bool registered = [] {
  constexpr size_t kHeader = offsetof(StridedArgs, packed);
  add({"bernoulli_tensor.float", &bernoulliTensorRun, kHeader});
  add({"dropout.float", &Dropout<float>::run, kHeader});
  add({"dropout.double", &Dropout<double>::run, kHeader});
  return true;
}();

} // namespace

} // namespace openreg::kernels
