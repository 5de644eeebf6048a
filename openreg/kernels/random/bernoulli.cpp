// The kernels "bernoulli" (one probability), "bernoulli_tensor" (one for each element) and "dropout".
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

const Draw<"bernoulli", Bernoulli> bernoulli;

class BernoulliTensor : public BlockLoop<uint32_t, 2> {
 public:
  using BlockLoop::BlockLoop;

  void operator()(int64_t begin, int64_t end, orKernelContext& context) const {
    const auto parameters = parametersOf<BernoulliTensorParameters>(args_);
    Cursor outCursor = cursor(0, begin);
    Cursor inCursor = cursor(1, begin);
    double p[kRun<uint32_t>];
    float values[kRun<uint32_t>];
    bool good = true;
    eachRun<uint32_t>(parameters.numbers, args_.elements(), begin, end, [&](int64_t count, const uint32_t* bits) {
      readNext(args_.operand(1), inCursor, count, p);
      for (int64_t i = 0; i < count; ++i) {
        const bool isProbability = p[i] >= 0 && p[i] <= 1; // NaN is none
        good = good && isProbability;
        values[i] = Coin(isProbability ? p[i] : 0)(bits[i]) ? 1 : 0;
      }
      writeNext(args_.operand(0), outCursor, count, values);
    });
    if (!good) {
      context.fail(&context, orErrorAssert, "argument 'p' has an element that is not in [0, 1]");
    }
  }
};

template <class C>
class Dropout : public BlockLoop<uint32_t, 3> {
 public:
  using BlockLoop::BlockLoop;

  void operator()(int64_t begin, int64_t end) const {
    const auto parameters = parametersOf<DropoutParameters>(args_);
    const Coin coin(parameters.keep);
    const auto scale = static_cast<C>(parameters.scale);
    Cursor outCursor = cursor(0, begin);
    Cursor maskCursor = cursor(1, begin);
    Cursor inCursor = cursor(2, begin);
    C values[kRun<uint32_t>];
    bool mask[kRun<uint32_t>];
    eachRun<uint32_t>(parameters.numbers, args_.elements(), begin, end, [&](int64_t count, const uint32_t* bits) {
      readNext(args_.operand(2), inCursor, count, values);
      for (int64_t i = 0; i < count; ++i) {
        mask[i] = coin(bits[i]);
        values[i] *= mask[i] ? scale : C(0); // a product, so that what is not a number stays visible
      }
      writeNext(args_.operand(0), outCursor, count, values);
      writeNext(args_.operand(1), maskCursor, count, mask);
    });
  }
};

const StridedLoop<"bernoulli_tensor.float", BernoulliTensor> bernoulliTensor;
const StridedLoop<"dropout.float", Dropout<float>> dropoutOfFloat;
const StridedLoop<"dropout.double", Dropout<double>> dropoutOfDouble;

} // namespace

} // namespace openreg::kernels
