// The loop of elementwise kernels: load, compute, store.
#pragma once

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/launch/operand.h"
#include "kernels/loop/block.h"
#include "kernels/loop/cursor.h"
#include "kernels/loop/element.h"
#include "kernels/loop/functor.h"
#include "kernels/loop/ivdep.h"
#include "kernels/loop/list_loop.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

// LITERALINCLUDE START: APPLY
/// The loop itself: arrays of compute types, and nothing the vectoriser cannot see through. What is left over of real
/// numbers is made up to a whole vector: a function's vector form rounds in other ways than the one for single numbers,
/// and a result must not depend on where in the tensor it is.
template <class F, class R, class... A>
OPENREG_MULTIVERSION void apply(F functor, int64_t count, R* out, const A*... in) {
  constexpr int64_t kVector = (std::is_floating_point_v<A> || ...) ? 16 : 1;
  const int64_t whole = count / kVector * kVector;
  OPENREG_IVDEP // `out` may be one of the inputs, but element by element that is no dependency.
  for (int64_t i = 0; i < whole; ++i) {
    out[i] = functor(in[i]...);
  }
  if (kVector > 1 && whole < count) {
    const auto last = [&](const auto* from) {
      std::array<std::decay_t<decltype(*from)>, kVector> to;
      for (int64_t i = 0; i < kVector; ++i) {
        to[i] = from[std::min(whole + i, count - 1)];
      }
      return to;
    };
    std::array<R, kVector> results;
    [&](const auto&... from) {
      for (int64_t i = 0; i < kVector; ++i) {
        results[i] = functor(from[i]...);
      }
    }(last(in)...);
    std::copy_n(results.begin(), count - whole, out + whole);
  }
}
// LITERALINCLUDE END: APPLY

// LITERALINCLUDE START: QUICK FORM
/// Whether a functor's quick form can do all these elements.
template <class F, class... A>
OPENREG_MULTIVERSION bool areQuick(int64_t count, const A*... in) {
  int32_t others = 0;
  for (int64_t i = 0; i < count; ++i) {
    others |= F::isQuick(in[i]...) ? 0 : 1;
  }
  return others == 0;
}

/// A functor may have a form `Quick` for most numbers, and tell by `isQuick` for which: blocks of only such take it. To
/// the last bit it gives what the functor gives, so that a result does not depend on its neighbours.
template <class F, class Call, class R, class... A>
void applyQuickly(Call call, int64_t count, R* out, const A*... in) {
  if constexpr (requires { typename F::Quick; }) {
    for (int64_t at = 0; at < count; at += kBlock) {
      const int64_t part = std::min(kBlock, count - at);
      if (areQuick<F>(part, in + at...)) {
        apply(typename F::Quick(), part, out + at, in + at...);
      } else {
        apply(call, part, out + at, in + at...);
      }
    }
  } else {
    apply(call, count, out, in...);
  }
}
// LITERALINCLUDE END: QUICK FORM

// LITERALINCLUDE START: LANE
/// Which elements of which operand.
struct Piece {
  const StridedArgs& args;
  int operand;
  int64_t begin;
  int64_t end;

  /// Whether blocks end where rows (runs along dimension 0) do, so that a row can be used in place: a bias that is
  /// added to each row, half of a matrix. Short rows would make short blocks.
  bool byRow() const { return args.dims > 1 && args.sizes()[0] >= kBlock / 8; }
  /// How many elements the block that begins at element `at` may have.
  int64_t room(int64_t at, int64_t most) const {
    const int64_t row = byRow() ? args.sizes()[0] : INT64_MAX;
    return std::min({most, end - at, row - at % row});
  }
};

/// An operand as arrays of a compute type: in place if its memory is that already, else converted a block at a time.
template <class C>
class Lane {
 public:
  explicit Lane(const Piece& piece)
      : operand_(piece.args.operand(piece.operand)), cursor_(piece.args, piece.operand, piece.begin) {
    const int dims = piece.args.dims;
    const int64_t* strides = piece.args.strides(piece.operand);
    const bool isOutput = piece.operand == 0;
    if (operand_.immediate != 0 || (!isOutput && std::all_of(strides, strides + dims, [](auto s) { return s == 0; }))) {
      kind_ = Kind::Constant;
      const int64_t count = std::min(kBlock, piece.end - piece.begin);
      load(operand_.dtype, data(), 0, count, block_);
      if (operand_.dtype != piece.args.common && computeTypeOf(piece.args.common) == kComputeTypeOf<C>) {
        round(piece.args.common, count);
      }
    } else if (operand_.dtype == kDTypeOf<C> && (dims == 0 || (dims == 1 && strides[0] == sizeof(C)))) {
      kind_ = Kind::InPlace;
      array_ = static_cast<C*>(operand_.data) + piece.begin;
    } else if (operand_.dtype == kDTypeOf<C> && piece.byRow() && strides[0] == sizeof(C)) {
      kind_ = Kind::Rows;
    }
  }

  bool inPlace() const { return kind_ == Kind::InPlace; }

  /// The next `count` elements, to be read.
  const C* read(int64_t count) {
    if (kind_ == Kind::Converted) {
      cursor_.advance(count, [this](int64_t offset, int64_t stride, int64_t done, int64_t run) {
        load(operand_.dtype, data() + offset, stride, run, block_ + done);
      });
    }
    return next(count);
  }

  /// Room for the next `count` elements, to be written and then passed to done().
  C* write(int64_t count) { return next(count); }
  void done(int64_t count) {
    if (kind_ == Kind::Converted) {
      cursor_.advance(count, [this](int64_t offset, int64_t stride, int64_t done, int64_t run) {
        store(operand_.dtype, static_cast<char*>(operand_.data) + offset, stride, run, block_ + done);
      });
    }
  }

 private:
  enum class Kind { Converted, Rows, InPlace, Constant };

  const char* data() const {
    return operand_.immediate != 0 ? reinterpret_cast<const char*>(operand_.value)
                                   : static_cast<const char*>(operand_.data);
  }
  /// Single elements may be of a wider type than the one that promotion found: they are rounded or wrap around before,
  /// not after. 3.3 is what a half makes of it in `half == 3.3`.
  void round(DType common, int64_t count) {
    if (const int64_t size = elementSize(common); size < static_cast<int64_t>(sizeof(C))) {
      char narrow[kBlock * sizeof(C)];
      store(common, narrow, size, count, block_);
      load(common, narrow, size, count, block_);
    }
  }
  C* next(int64_t count) {
    if (kind_ == Kind::Rows) {
      char* at = static_cast<char*>(operand_.data) + cursor_.offset();
      cursor_.advance(count, [](auto...) {});
      return reinterpret_cast<C*>(at);
    }
    return kind_ == Kind::InPlace ? std::exchange(array_, array_ + count) : block_;
  }

  const Operand& operand_;
  Cursor cursor_;
  Kind kind_ = Kind::Converted;
  C* array_ = nullptr;
  C block_[kBlock];
};
// LITERALINCLUDE END: LANE

// LITERALINCLUDE START: ELEMENTWISE KERNEL
/// A kernel out of a functor: its fields are the launch's parameters, its call operator makes an element of the output
/// out of an element of each input.
template <class F>
class ElementwiseKernel {
  using Call = Signature<decltype(&F::operator())>;
  using Result = Call::Result;
  template <size_t I>
  using Input = std::remove_cvref_t<std::tuple_element_t<I, typename Call::Inputs>>;

 public:
  static void run(const void* bytes, orKernelContext* context) {
    const auto& args = *static_cast<const StridedArgs*>(bytes);
    if (args.dims < 0 || args.dims > kMaxOperandDims || args.operands != Call::kInputs + 1) {
      return context->fail(context, orErrorInvalidValue, "dims or operands is out of range");
    }
    context->parallelFor(context, args.elements(), kGrain, &loop, const_cast<void*>(bytes));
  }

  /// The same for each tensor of a list.
  static void runOnList(const void* bytes, orKernelContext* context) {
    runList(*static_cast<const ListArgs*>(bytes), Call::kInputs + 1, &loop, context);
  }

 private:
  static void loop(void* state, int64_t begin, int64_t end) {
    const auto& args = *static_cast<const StridedArgs*>(state);
    constexpr std::make_index_sequence<Call::kInputs> kInputs;
    if constexpr (std::is_same_v<Result, bool>) {
      if (args.operand(0).dtype == kDTypeOf<Input<0>>) { // `x.lt_(0)`: what is true becomes 1 at once
        return pieces<Input<0>>(args, begin, end, kInputs);
      }
    }
    pieces<Result>(args, begin, end, kInputs);
  }

  template <class Output, size_t... I>
  static void pieces(const StridedArgs& args, int64_t begin, int64_t end, std::index_sequence<I...>) {
    const F functor = makeFunctor<F>(args.parameters);
    // Inline in any case: a loop with a call in it would not become vector code.
    const auto compute = [functor](const auto... x) OPENREG_INLINE -> Output {
      if constexpr (std::is_same_v<Output, Result>) {
        return functor(x...);
      } else { // not a conversion of bool, which would not become vector code
        return functor(x...) ? Output(1) : Output(0);
      }
    };
    const Piece whole{args, 0, begin, end};
    Lane<Output> out(whole);
    std::tuple<Lane<Input<I>>...> in(Piece{args, I + 1, begin, end}...);
    const bool allInPlace = out.inPlace() && (std::get<I>(in).inPlace() && ...);
    const int64_t most = allInPlace ? end - begin : kBlock;
    for (int64_t at = begin; at < end;) {
      const int64_t count = whole.room(at, most);
      applyQuickly<F>(compute, count, out.write(count), std::get<I>(in).read(count)...);
      out.done(count);
      at += count;
    }
  }
};
// LITERALINCLUDE END: ELEMENTWISE KERNEL

} // namespace openreg::kernels
