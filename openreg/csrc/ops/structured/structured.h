// Operators out of PyTorch's own structured classes: what its code generator writes for the devices in its tree.
#pragma once

#include "device/current_device.h"
#include "ops/launch/name.h"
#include "ops/structured/structured_output.h"

#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>

#include <array>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace openreg {

// LITERALINCLUDE START: STRUCTURED CALL
/**
 * @brief One call of a structured operator: the class, and the outputs that its meta function asks for.
 *
 * A structured class has two member functions. `meta` checks the arguments and says through set_output_...() what each
 * output is like; `impl` computes. What lies between, making the outputs or checking those that were given, is the same
 * for all classes, and is here.
 * @tparam S The class.
 * @tparam Outputs How many outputs.
 */
template <class S, size_t Outputs>
class StructuredCall final : public S {
  static constexpr bool kIterates = std::is_base_of_v<at::TensorIteratorBase, S>;

 public:
  /// @param given The outputs of the in-place and the out form.
  explicit StructuredCall(Form form, std::array<at::Tensor*, Outputs> given = {}) : form_(form), given_(given) {}

  /// For kernels that write any strides: `strides` is a wish.
  void set_output_raw_strided(
      int64_t i, at::IntArrayRef sizes, at::IntArrayRef strides, at::TensorOptions options) override {
    prepare(i, sizes, strides, options);
    if constexpr (kIterates) {
      S::set_output_raw_strided(i, sizes, strides, options);
    }
  }

  /// For kernels that write these strides only: a given output with others gets its values by a copy in the end.
  void
  set_output_strided(int64_t i, at::IntArrayRef sizes, at::IntArrayRef strides, at::TensorOptions options) override {
    prepare(i, sizes, strides, options);
    if (form_ != Form::Functional && given_[i]->strides() != strides) {
      made_[i] = makeOutput(sizes, strides, options);
    }
    if constexpr (kIterates) {
      S::set_output_raw_strided(i, sizes, strides, options);
    }
  }

  const at::Tensor& maybe_get_output(int64_t i) override {
    return form_ == Form::Functional || made_[i].defined() ? made_[i] : *given_[i];
  }

  at::Tensor& made(size_t i) { return made_[i]; }

  /// Brings what was computed in place of given outputs to where it belongs.
  void finish() {
    for (size_t i = 0; i < Outputs; ++i) {
      if (C10_UNLIKELY(made_[i].defined())) {
        given_[i]->copy_(made_[i]);
      }
    }
  }

 private:
  void prepare(int64_t i, at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options) {
    device_.set(options.device().index()); // meta knows best where the operator happens; impl runs there, too
    prepareOutput(form_, given_[i], made_[i], sizes, strides, options);
  }

  Form form_;
  std::array<at::Tensor*, Outputs> given_; // of the in-place and out forms
  std::array<at::Tensor, Outputs> made_;   // outputs of the functional form; else what stands in place of a given one
  CurrentDevice device_;
};
// LITERALINCLUDE END: STRUCTURED CALL

/// What the dispatcher passes where a meta function has a parameter of type T.
template <class T>
struct Dispatched {
  using Type = T;
};
template <>
struct Dispatched<at::OptionalTensorRef> {
  using Type = const std::optional<at::Tensor>&;
};
template <>
struct Dispatched<at::IOptTensorListRef> {
  using Type = const c10::List<std::optional<at::Tensor>>&;
};
template <>
struct Dispatched<at::OptionalScalarRef> {
  using Type = const std::optional<at::Scalar>&;
};

/// The argument as the meta function wants it.
template <class T>
const T& asMetaWants(const T& argument) {
  return argument;
}
inline at::OptionalTensorRef asMetaWants(const std::optional<at::Tensor>& argument) {
  return argument.has_value() && argument->defined() ? at::OptionalTensorRef(*argument) : at::OptionalTensorRef();
}
inline at::OptionalScalarRef asMetaWants(const std::optional<at::Scalar>& argument) {
  return argument.has_value() ? at::OptionalScalarRef(*argument) : at::OptionalScalarRef();
}

// LITERALINCLUDE START: STRUCTURED
/**
 * @brief The functional, in-place and out form of an operator, made of its structured class.
 *
 *     using Multiply = Structured<at::native::structured_mul_out>;
 *     implNative(m, "mul.Tensor", Multiply::functional);
 *     implNative(m, "mul_.Tensor", Multiply::inplace);
 *     implNative(m, "mul.out", Multiply::out);
 *
 * The class is one that PyTorch ships whole, meta and impl, if its impl calls a stub (then register a kernel for the
 * stub); or one of yours that derives from `at::meta::structured_...` and has an impl of its own. If impl takes
 * it, what meta has found out and returns comes between the arguments and the outputs.
 * @tparam S The class.
 * @tparam name The out form, "mm.out", for errors: its schema has the names of all arguments. Classes built on
 * TensorIterator need none: it compares devices itself.
 * @tparam Outputs How many tensors the operator returns.
 */
template <
    class S,
    Name name = "",
    size_t Outputs = 1,
    class Meta = decltype(&S::meta),
    class = std::make_index_sequence<Outputs>>
class Structured;

template <class S, Name name, size_t Outputs, class R, class Base, class... A, size_t... I>
class Structured<S, name, Outputs, R (Base::*)(A...), std::index_sequence<I...>> {
  template <size_t>
  using TensorRef = at::Tensor&;
  template <class T>
  using Argument = Dispatched<T>::Type;
  static constexpr bool kIterates = std::is_base_of_v<at::TensorIteratorBase, S>;
  static_assert(kIterates || sizeof(name.value) > 1, "name the operator: Structured<Class, \"mm.out\">");

  template <class Self, class... Rest>
  struct InPlace {
    static at::Tensor& call(at::Tensor& self, Argument<Rest>... rest) {
      checkDevices(self, rest...);
      run(Form::InPlace, {&self}, self, rest...);
      return self;
    }
  };

 public:
  using Functional = std::conditional_t<Outputs == 1, at::Tensor, std::tuple<decltype((void)I, at::Tensor())...>>;
  using Given = std::conditional_t<Outputs == 1, at::Tensor&, std::tuple<TensorRef<I>...>>;

  static Functional functional(Argument<A>... arguments) {
    checkDevices(arguments...);
    StructuredCall<S, Outputs> call(Form::Functional);
    compute(call, arguments...);
    return Functional(std::move(call.made(I))...);
  }

  static Given out(Argument<A>... arguments, TensorRef<I>... outputs) {
    checkDevices(arguments..., outputs...);
    run(Form::Out, {&outputs...}, arguments...);
    return Given(outputs...);
  }

  static constexpr auto inplace = [] {
    if constexpr (std::is_same_v<std::tuple_element_t<0, std::tuple<A...>>, const at::Tensor&> && Outputs == 1) {
      return &InPlace<A...>::call;
    } else {
      return nullptr; // There is no such form.
    }
  }();

 private:
  static void run(Form form, std::array<at::Tensor*, Outputs> outputs, Argument<A>... arguments) {
    StructuredCall<S, Outputs> call(form, outputs);
    compute(call, arguments...);
    call.finish();
  }

  static void compute(StructuredCall<S, Outputs>& call, Argument<A>... arguments) {
    if constexpr (requires { call.impl(asMetaWants(arguments)..., std::declval<R>(), call.maybe_get_output(I)...); }) {
      const auto found = call.meta(asMetaWants(arguments)...);
      call.impl(asMetaWants(arguments)..., found, call.maybe_get_output(I)...);
    } else {
      call.meta(asMetaWants(arguments)...);
      call.impl(asMetaWants(arguments)..., call.maybe_get_output(I)...);
    }
  }

  template <class... T>
  static void checkDevices(const T&... arguments) {
    if constexpr (!kIterates) {
      SameDevice(name.value).all(arguments...);
    }
  }
};
// LITERALINCLUDE END: STRUCTURED

} // namespace openreg
