// What the optimizers' kernels share: pieces of many tensors, as arrays of the type that is computed in.
#pragma once

#include <algorithm>

#include "kernels/launch/registry.h"
#include "kernels/loop/block.h"
#include "kernels/loop/element.h"
#include "kernels/loop/functor.h"
#include "kernels/loop/list_loop.h"
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

/// Runs `Step` for all elements of all tensors. A Step is made of the arguments and a tensor's number, and called with
/// pieces of the parameter, the gradient and `states` further arrays.
template <class C, class Step, int states>
void runFused(const FusedArgs& args, orKernelContext& context) {
  if (args.tensors < 0 || args.arrays < 2 || args.size(args.tensors) > sizeof(FusedArgs)) {
    return context.fail(&context, orErrorInvalidValue, "tensors or arrays is out of range");
  }
  if (args.foundInf != nullptr && *args.foundInf == 1.0F) {
    return;
  }
  int64_t elements = 0;
  for (int i = 0; i < args.tensors; ++i) {
    elements += args.count(i);
  }
  context.parallelFor(
      &context, elements, kGrain,
      [](void* state, int64_t begin, int64_t end) {
        const auto& args = *static_cast<const FusedArgs*>(state);
        eachPart(
            args.tensors, [&](int i) { return args.count(i); }, begin, end,
            [&](int i, int64_t from, int64_t to) {
              const Step step(args, i);
              FusedPiece<C> pieces[2 + states];
              C* arrays[2 + states];
              for (int64_t at = from; at < to; at += kBlock) {
                const int64_t count = std::min(kBlock, to - at);
                for (int k = 0; k < 2 + states; ++k) {
                  arrays[k] = pieces[k].read(args.dtype, step.array(args, i, k), at, count);
                }
                step(count, arrays);
                for (int k = 0; k < 2 + states; ++k) {
                  if (k != 1 || args.gradScale != nullptr) { // gradients stay as they are, unless they are scaled
                    pieces[k].write(args.dtype, step.array(args, i, k), at, count);
                  }
                }
              }
            });
      },
      const_cast<FusedArgs*>(&args));
}

inline double learningRate(const FusedArgs& args) {
  return args.onDevice != nullptr ? *args.onDevice : args.learningRate;
}

/// Registers a kernel whose arguments end with the last tensor, and not with the struct.
template <class Kernel>
void addFused(const char* name) {
  add(
      {name,
       [](const void* args, orKernelContext* context) { Kernel{}(*static_cast<const FusedArgs*>(args), *context); },
       offsetof(FusedArgs, packed)});
}

} // namespace openreg::kernels
