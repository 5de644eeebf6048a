// What the optimizers' kernels share: pieces of many tensors, as arrays of the type that is computed in.
#pragma once

#include <algorithm>

#include "kernels/launch/registry.h"
#include "kernels/loop/block.h"
#include "kernels/loop/list_loop.h"
#include "kernels/loop/loop_kernel.h"
#include "kernels/training/fused_optimizer.h"

namespace openreg::kernels {

/// A piece of an array, in place if its elements are of type C, else converted block by block.
template <class C>
class FusedPiece {
 public:
  /// @param data May be null: there is no such array.
  C* read(DType dtype, void* data, int64_t at, int64_t count) {
    if (data == nullptr) {
      return nullptr;
    }
    if (dtype == kDTypeOf<C>) {
      return static_cast<C*>(data) + at;
    }
    load(dtype, static_cast<char*>(data) + at * elementSize(dtype), elementSize(dtype), count, block_);
    return block_;
  }
  void write(DType dtype, void* data, int64_t at, int64_t count) const {
    if (data != nullptr && dtype != kDTypeOf<C>) {
      store(dtype, static_cast<char*>(data) + at * elementSize(dtype), elementSize(dtype), count, block_);
    }
  }

 private:
  C block_[kBlock];
};

inline double learningRate(const FusedArgs& args) {
  return args.onDevice != nullptr ? *args.onDevice : args.learningRate;
}

/// A Step for all elements of all tensors. It is made of the arguments and a tensor's number, and called with pieces of
/// the parameter, the gradient and `states` further arrays.
template <class C, class Step, int states>
class FusedLoop {
 public:
  static const char* refusal(const FusedArgs& args) {
    const bool fits = args.tensors >= 0 && Step::hasArrays(args.arrays) && args.size(args.tensors) <= sizeof(FusedArgs);
    return fits ? nullptr : "tensors or arrays is out of range";
  }
  explicit FusedLoop(const FusedArgs& args) : args_(args) {
    for (int i = 0; i < args.tensors; ++i) {
      elements_ += args.count(i);
    }
  }
  int64_t count() const { return elements_; }
  void operator()(int64_t begin, int64_t end) const {
    if (args_.foundInf != nullptr && *args_.foundInf == 1.0F) {
      return;
    }
    const auto countOf = [&](int i) { return args_.count(i); };
    eachPart(args_.tensors, countOf, begin, end, [&](int i, int64_t from, int64_t to) { stepOf(i, from, to); });
  }

 private:
  void stepOf(int i, int64_t from, int64_t to) const {
    const Step step(args_, i);
    FusedPiece<C> pieces[2 + states];
    C* arrays[2 + states];
    for (int64_t at = from; at < to; at += kBlock) {
      const int64_t count = std::min(kBlock, to - at);
      for (int k = 0; k < 2 + states; ++k) {
        arrays[k] = pieces[k].read(args_.dtype, step.array(args_, i, k), at, count);
      }
      step(count, arrays);
      for (int k = 0; k < 2 + states; ++k) {
        if (k != 1 || args_.gradScale != nullptr) { // gradients stay as they are, unless they are scaled
          pieces[k].write(args_.dtype, step.array(args_, i, k), at, count);
        }
      }
    }
  }

  const FusedArgs& args_;
  int64_t elements_ = 0; ///< Of all tensors.
};

/// A static object of this type makes a step the kernel `name`. Its arguments end with the last tensor, and not with
/// the struct.
template <Name name, class C, class Step, int states>
class FusedEntry : public Entry<
                       name,
                       FusedArgs,
                       offsetof(FusedArgs, packed),
                       &LoopKernel<FusedArgs, FusedLoop<C, Step, states>>::run> {};

} // namespace openreg::kernels
