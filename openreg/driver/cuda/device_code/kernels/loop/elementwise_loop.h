// The loop of elementwise kernels on a GPU: a thread loads elements, computes, and stores.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/loop/block.h"
#include "kernels/loop/functor.h"
#include "kernels/loop/lists.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// What a thread needs to know of an operand.
struct View {
  void* data;
  DType dtype;
  bool isSingle; ///< One element stands for all.
  bool isArray;  ///< Its elements lie one behind the other.
};

inline View viewOf(const StridedArgs& args, int k) {
  const Operand& operand = args.operand(k);
  if (operand.immediate != 0) {
    return {const_cast<unsigned char*>(operand.value), operand.dtype, true, false};
  }
  bool isSingle = k > 0;
  for (int d = 0; d < args.dims; ++d) {
    isSingle = isSingle && args.strides(k)[d] == 0;
  }
  const bool isArray = args.dims == 0 || (args.dims == 1 && args.strides(k)[0] == elementSize(operand.dtype));
  return {operand.data, operand.dtype, isSingle, isArray};
}

inline View viewOf(const ListArgs& list, const ListEntry& entry, int k) {
  const Operand& operand = entry.operand(k > 0 ? k - list.inPlace : 0);
  const bool isHere = operand.immediate != 0 && operand.immediate != kSingle;
  return {
      isHere ? const_cast<unsigned char*>(operand.value) : operand.data, operand.dtype, operand.immediate != 0,
      operand.immediate == 0};
}

/// Where the elements with number `at` of the operands are, in bytes from their first.
template <class Index, int operands>
void locate(const StridedArgs& args, Index at, int64_t (&offsets)[operands]) {
  for (auto& offset : offsets) {
    offset = 0;
  }
  for (int d = 0; d < args.dims; ++d) {
    const auto size = static_cast<Index>(args.sizes()[d]);
    const Index rest = d + 1 < args.dims ? at / size : 0;
    const auto index = static_cast<int64_t>(at - rest * size);
    for (int k = 0; k < operands; ++k) {
      offsets[k] += index * args.strides(k)[d];
    }
    at = rest;
  }
}

/// An element that stands for all may be of a wider type than the one that promotion found: it is rounded or wraps
/// around before, not after. 3.3 is what a half makes of it in `half == 3.3`.
template <class C>
__noinline__ C singleOf(const View& view, DType common) {
  const C value = loadOne<C>(view.dtype, view.data);
  if (view.dtype == common || computeTypeOf(common) != kComputeTypeOf<C>) {
    return value;
  }
  alignas(16) char narrow[16];
  storeOne(common, narrow, value);
  return loadOne<C>(common, narrow);
}

/// Elements that are moved as one.
template <class T, int n>
struct alignas(sizeof(T) * n) Pack {
  T elements[n];
};

/// An input that is an array of T, or one element; computed with as a C.
template <class C, class T, int n>
struct ArrayInput {
  C single;
  const T* array; ///< Null where there is one element.

  ArrayInput(const View& view, DType common)
      : single(view.isSingle ? singleOf<C>(view, common) : C{}),
        array(view.isSingle ? nullptr : static_cast<const T*>(view.data)) {}

  C operator[](int64_t i) const { return array == nullptr ? single : convert<C>(array[i]); }

  /// The elements from i * n on.
  Pack<C, n> pack(int64_t i) const {
    Pack<C, n> result;
    if (array == nullptr) {
      for (int j = 0; j < n; ++j) {
        result.elements[j] = single;
      }
    } else {
      const auto from = reinterpret_cast<const Pack<T, n>*>(array)[i];
      for (int j = 0; j < n; ++j) {
        result.elements[j] = convert<C>(from.elements[j]);
      }
    }
    return result;
  }
};

/// The number in memory of a type that kernels load and store without a look at each element's type.
template <class T>
constexpr DType kStoredAs = kDTypeOf<T>;
template <>
inline constexpr DType kStoredAs<Half> = DType::Half;
template <>
inline constexpr DType kStoredAs<BFloat16> = DType::BFloat16;
template <>
inline constexpr DType kStoredAs<int32_t> = DType::Int32;

/// A kernel out of a functor: its fields are the launch's parameters, its call operator makes an element of the output
/// out of an element of each input.
template <class F>
class ElementwiseKernel {
  using Call = Signature<decltype(&F::operator())>;
  using Result = typename Call::Result;
  template <size_t I>
  using Input = std::remove_cvref_t<std::tuple_element_t<I, typename Call::Inputs>>;
  static constexpr int kOperands = Call::kInputs + 1;
  using Inputs = std::make_index_sequence<Call::kInputs>;

 public:
  static void run(const void* bytes, orKernelContext* context) {
    const auto& args = *static_cast<const StridedArgs*>(bytes);
    if (args.dims < 0 || args.dims > kMaxOperandDims || args.operands != kOperands) {
      return context->fail(context, orErrorInvalidValue, "dims or operands is out of range");
    }
    View views[kOperands];
    for (int k = 0; k < kOperands; ++k) {
      views[k] = viewOf(args, k);
    }
    const Work work{*context, makeFunctor<F>(args.parameters), args.common, args.elements(), 0};
    if (inArrays(work, views)) {
      return;
    }
    if (work.count <= INT32_MAX) { // numbers of 32 bits are divided several times faster
      each(work, views, [&](int64_t i, auto& offsets) { locate(args, static_cast<uint32_t>(i), offsets); });
    } else {
      each(work, views, [&](int64_t i, auto& offsets) { locate(args, static_cast<uint64_t>(i), offsets); });
    }
  }

  /// The same for each tensor of a list.
  static void runOnList(const void* bytes, orKernelContext* context) {
    const auto& list = *static_cast<const ListArgs*>(bytes);
    if (list.tensors < 0 || list.inPlace < 0 || list.inPlace > 1 || list.operands < 1 ||
        list.operands + list.inPlace != kOperands || list.size() > sizeof(ListArgs)) {
      return context->fail(context, orErrorInvalidValue, "tensors, operands or inPlace is out of range");
    }
    int64_t before = 0;
    for (int tensor = 0; tensor < list.tensors; ++tensor) {
      const ListEntry& entry = list.entry(tensor);
      View views[kOperands];
      for (int k = 0; k < kOperands; ++k) {
        views[k] = viewOf(list, entry, k);
      }
      const Work work{*context, makeFunctor<F>(entry.parameters), list.common, entry.count, before};
      if (!inArrays(work, views)) {
        each(work, views, [&](int64_t i, auto& offsets) {
          for (int k = 0; k < kOperands; ++k) {
            offsets[k] = i * elementSize(views[k].dtype);
          }
        });
      }
      before += entry.count;
    }
  }

 private:
  struct Work {
    const orKernelContext& context;
    F functor;
    DType common;
    int64_t count;
    int64_t before; ///< Elements of other tensors, so that not all of them begin with the same threads.

    template <class Use>
    void forEach(int64_t items, Use use) const {
      const int64_t threads = context.threads();
      for (int64_t i = (context.thread() + threads - before % threads) % threads; i < items; i += threads) {
        use(i);
      }
    }
  };

  /// The type of the numbers, apart from conditions and results that are bools.
  using Number = std::conditional_t<std::is_same_v<Result, bool>, Input<Call::kInputs - 1>, Result>;
  /// What is of type X is in memory, where numbers are of type T.
  template <class X, class T>
  using Stored = std::conditional_t<std::is_same_v<X, Number>, T, X>;

  /// Does the work where all operands are arrays, or single elements, whose types tell how they are moved: sixteen
  /// bytes at a time. False where they are not.
  static bool inArrays(const Work& work, const View* views) {
    if (inArraysOf<Number>(work, views, Inputs())) {
      return true;
    }
    if constexpr (std::is_same_v<Number, float>) {
      return inArraysOf<Half>(work, views, Inputs()) || inArraysOf<BFloat16>(work, views, Inputs());
    } else if constexpr (std::is_same_v<Number, int64_t>) {
      return inArraysOf<int32_t>(work, views, Inputs());
    }
    return false;
  }

  template <class T, size_t... I>
  static bool inArraysOf(const Work& work, const View* views, std::index_sequence<I...> /*inputs*/) {
    using Out = Stored<Result, T>;
    const bool fits = views[0].isArray && views[0].dtype == kStoredAs<Out> &&
                      (... && (views[I + 1].isSingle ||
                               (views[I + 1].isArray && views[I + 1].dtype == kStoredAs<Stored<Input<I>, T>>)));
    if (!fits) {
      return false;
    }
    constexpr int n = sizeof(T) >= 16 ? 1 : 16 / sizeof(T);
    const F& functor = work.functor;
    const std::tuple in{ArrayInput<Input<I>, Stored<Input<I>, T>, n>(views[I + 1], work.common)...};
    auto* out = static_cast<Out*>(views[0].data);
    const bool aligned = isAligned<Out, n>(views[0]) && (... && isAligned<Stored<Input<I>, T>, n>(views[I + 1]));
    const int64_t packs = aligned ? work.count / n : 0;
    work.forEach(packs, [&](int64_t i) {
      Pack<Out, n> result;
      [&](const auto&... from) {
        for (int j = 0; j < n; ++j) {
          result.elements[j] = convert<Out>(functor(from.elements[j]...));
        }
      }(std::get<I>(in).pack(i)...);
      reinterpret_cast<Pack<Out, n>*>(out)[i] = result;
    });
    work.forEach(work.count - packs * n, [&](int64_t i) {
      out[packs * n + i] = convert<Out>(functor(std::get<I>(in)[packs * n + i]...));
    });
    return true;
  }

  template <class T, int n>
  static bool isAligned(const View& view) {
    return view.isSingle || reinterpret_cast<uint64_t>(view.data) % sizeof(Pack<T, n>) == 0;
  }

  /// Does the work on any operands. `place(i, offsets)` tells for each where element i is, in bytes from the first.
  template <class Place>
  static void each(const Work& work, const View* views, Place place) {
    work.forEach(work.count, [&](int64_t i) {
      int64_t offsets[kOperands];
      place(i, offsets);
      eachOf(work, views, offsets, Inputs());
    });
  }
  template <size_t... I>
  static void
  eachOf(const Work& work, const View* views, const int64_t* offsets, std::index_sequence<I...> /*inputs*/) {
    const Result result = work.functor(input<Input<I>>(work, views[I + 1], offsets[I + 1])...);
    void* to = static_cast<char*>(views[0].data) + offsets[0];
    if (views[0].dtype == kDTypeOf<Result>) {
      *static_cast<Result*>(to) = result;
    } else {
      storeOne<Result>(views[0].dtype, to, result);
    }
  }

  template <class C>
  static C input(const Work& work, const View& view, int64_t offset) {
    if (view.isSingle) {
      return singleOf<C>(view, work.common);
    }
    const void* from = static_cast<const char*>(view.data) + offset;
    return view.dtype == kDTypeOf<C> ? *static_cast<const C*>(from) : loadOne<C>(view.dtype, from);
  }
};

} // namespace openreg::kernels
