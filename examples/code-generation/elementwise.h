// What generated operators have in common: they work element by element, and know what they return without computing
// it.
#pragma once

#include "ops/launch/elementwise.h"
#include "ops/structured/structured.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/div.h>
#include <ATen/ops/neg.h>
#include <torch/library.h>

#include <functional>
#include <initializer_list>
#include <type_traits>
#include <vector>

namespace openreg {

// LITERALINCLUDE START: GENERATED BASE
/// Base of a generated operator. Inputs are broadcast and brought to one type; integers become floats.
class Elementwise : public at::TensorIteratorBase {
 public:
  using Inputs = std::initializer_list<std::reference_wrapper<const at::Tensor>>;

 protected:
  virtual void iterate(Inputs inputs) {
    at::TensorIteratorConfig config;
    config.set_check_mem_overlap(true)
        .allow_cpu_scalars(true)
        .promote_inputs_to_common_dtype(true)
        .promote_integer_inputs_to_float(true)
        .cast_common_dtype_to_outputs(true)
        .enforce_safe_casting_to_output(true)
        .add_output(maybe_get_output());
    for (const at::Tensor& input : inputs) {
      config.add_const_input(input);
    }
    build(config);
  }
};

/// Calls an operator by its name. Its signature is that of who calls. @tparam op "acme::gate".
template <Name op, Name overload, class R, class... A>
R callOperator(R (*)(A...), std::type_identity_t<A>... arguments) {
  static const auto found =
      c10::Dispatcher::singleton().findSchemaOrThrow(op.value, overload.value).template typed<R(A...)>();
  return found.call(arguments...);
}

/// Writes a result into a tensor that is there already, by operators that PyTorch can differentiate and trace.
inline at::Tensor& assign(at::Tensor& to, const at::Tensor& result) {
  TORCH_CHECK(
      at::canCast(result.scalar_type(), to.scalar_type()), "result type ", result.scalar_type(),
      " can't be cast to the desired output type ", to.scalar_type());
  return to.copy_(result);
}

/// The forms that write into a tensor, made of the one that does not: what a compiler sees of them.
template <auto functional>
struct Assigned;
template <class... A, at::Tensor (*function)(const at::Tensor&, A...)>
struct Assigned<function> {
  static at::Tensor& inplace(at::Tensor& self, A... rest) { return assign(self, function(self, rest...)); }
  static at::Tensor& out(const at::Tensor& self, A... rest, at::Tensor& out) {
    return assign(out, function(self, rest...));
  }
};
// LITERALINCLUDE END: GENERATED BASE

// LITERALINCLUDE START: GENERATED META
/**
 * @brief The forms of a generated operator for tensors without memory.
 *
 * Sizes and strides are those of a division: it follows the same rules, and PyTorch can divide tensors whose sizes are
 * symbols, where an iterator wants numbers.
 */
template <class S, class Meta = decltype(&S::meta)>
class OnMeta;

template <class S, class... A>
class OnMeta<S, void (S::*)(A...)> {
  template <class T>
  using Argument = Dispatched<T>::Type;

  struct Call final : S {
    at::Tensor result;
    const at::Tensor& maybe_get_output(int64_t /*i*/) override { return result; }
    void iterate(Elementwise::Inputs inputs) override {
      std::vector<at::Tensor> tensors(inputs.begin(), inputs.end());
      const auto type = at::native::result_type(tensors);
      result = tensors.size() == 1 ? at::div(tensors[0], 1) : at::div(tensors[0], tensors[1]);
      for (size_t i = 2; i < tensors.size(); ++i) {
        result = at::div(result, tensors[i]);
      }
      result = c10::isIntegralType(type, /*includeBool=*/true) ? result : result.to(type);
    }
  };

  template <class Self, class... Rest>
  struct InPlace {
    static at::Tensor& call(at::Tensor& self, Argument<Rest>... rest) {
      return assign(self, functional(self, rest...));
    }
  };

 public:
  static at::Tensor functional(Argument<A>... arguments) {
    Call call;
    call.meta(arguments...);
    return call.result;
  }
  static constexpr auto inplace = &InPlace<A...>::call;
  static at::Tensor& out(Argument<A>... arguments, at::Tensor& out) {
    return at::neg_out(out, functional(arguments...)); // checks type and device, and resizes
  }
};
// LITERALINCLUDE END: GENERATED META

} // namespace openreg
