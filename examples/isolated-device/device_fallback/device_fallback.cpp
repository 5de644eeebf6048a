// The fallback's mode "device": the device computes an operator itself, if it knows all operators by name.
#include "call_tensors.h"
#include "run_op.h"

#include "device/error.h"
#include "fallback/policy.h"
#include "ops/structured/structured_output.h"

#include <ATen/native/TypeProperties.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace openreg {
namespace {

constexpr size_t kReplyBytes = size_t{16} << 10;

/// One call of an operator.
class Call {
 public:
  Call(const c10::OperatorHandle& op, const torch::jit::Stack& stack, c10::Device device)
      : op_(op), parameters_(op.schema().arguments()), returns_(op.schema().returns()),
        given_(torch::jit::last(stack, parameters_.size()).vec()), device_(device) {}

  /// Its results, as many as the schema has.
  std::vector<c10::IValue> run() {
    const c10::DeviceGuard guard(device_);
    moveToDevice();
    reply_ = at::empty({static_cast<int64_t>(kReplyBytes)}, at::TensorOptions(at::kByte).device(device_));
    const auto inferred = infer();
    return inferred ? computeInto(*inferred) : computeAndTake();
  }

 private:
  // LITERALINCLUDE START: RUN OP NUMBERS
  /// Numbers and indices may be on the CPU. A number that was no tensor counts less when types are combined, which a
  /// tensor on the device cannot say; so it gets the type that comes of it here.
  void moveToDevice() {
    for (auto& value : given_) {
      value = mapTensors(value, [&](const at::Tensor& tensor) {
        const bool isNumber = tensor.unsafeGetTensorImpl()->is_wrapped_number();
        const auto it = isNumber ? tensor.to(combinedType()) : tensor;
        return it.is_cpu() ? it.to(device_) : it;
      });
    }
  }

  /// The type that all arguments are computed in together.
  c10::ScalarType combinedType() const {
    at::native::ResultTypeState types;
    for (size_t i = 0; i < given_.size(); ++i) {
      for (const auto& tensor : flatTensors({parameters_[i].is_out() ? c10::IValue() : given_[i]})) {
        types = at::native::update_result_type_state(tensor, types);
      }
    }
    return at::native::result_type(types);
  }
  // LITERALINCLUDE END: RUN OP NUMBERS

  // LITERALINCLUDE START: RUN OP INFER
  /// What the results look like, found out without computing; none if that cannot be. Grows what is written to.
  std::optional<std::vector<c10::IValue>> infer() {
    const bool hasViews = std::ranges::any_of(
        returns_, [](const auto& it) { return it.alias_info() != nullptr && !it.alias_info()->isWrite(); });
    if (hasViews || !op_.hasKernelForDispatchKey(c10::DispatchKey::Meta)) {
      return std::nullopt;
    }
    std::unordered_map<at::TensorImpl*, at::Tensor> twins; // what is given twice is given twice there
    torch::jit::Stack stack;
    for (size_t i = 0; i < given_.size(); ++i) {
      const auto twinOf = [&](const at::Tensor& tensor) {
        auto& twin = twins[tensor.unsafeGetTensorImpl()];
        if (!twin.defined()) {
          // What is resized when it is not empty gives a warning. We shall do that ourselves.
          const auto options = tensor.options().device(at::kMeta);
          twin = parameters_[i].is_out() ? at::empty({0}, options)
                                         : at::empty_strided(tensor.sizes(), tensor.strides(), options);
        }
        return twin;
      };
      stack.push_back(given_[i].isDevice() ? c10::Device(at::kMeta) : mapTensors(given_[i], twinOf));
    }
    try {
      op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
    } catch (const std::exception&) {
      return std::nullopt; // The shapes depend on data, or the call is wrong: the device will say.
    }
    forEachWritten([&](const at::Tensor& tensor, bool isOut) {
      const auto& twin = twins.at(tensor.unsafeGetTensorImpl());
      if (isOut) {
        resizeOutput(tensor, twin.sizes(), twin.strides(), tensor.options());
      }
    });
    return stack;
  }
  // LITERALINCLUDE END: RUN OP INFER

  // LITERALINCLUDE START: RUN OP COMPUTE
  /// The device writes results where they belong.
  std::vector<c10::IValue> computeInto(const std::vector<c10::IValue>& inferred) {
    std::vector<c10::IValue> outputs(inferred.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!isWritten(returns_[i]) && (inferred[i].isTensor() || inferred[i].isTensorList())) {
        outputs[i] = mapTensors(inferred[i], [&](const at::Tensor& it) {
          return at::empty_strided(it.sizes(), it.strides(), it.options().device(device_));
        });
      }
    }
    CallWriter call;
    describe(call, outputs);
    auto reply = ask(call, Mode::Into, 0);
    readWritten(reply);
    const auto made = flatTensors(outputs);
    size_t next = 0;
    return readResults(reply, [&](const TensorText&) { return made.at(next++); });
  }

  /// The device keeps the results until they have been given memory.
  std::vector<c10::IValue> computeAndTake() {
    static std::atomic<uint64_t> calls{0};
    const uint64_t number = ++calls;
    CallWriter call;
    describe(call, std::vector<c10::IValue>(returns_.size()));
    auto reply = ask(call, Mode::Keep, number);
    std::vector<at::Tensor> outputs;
    try {
      const auto described = readWritten(reply);
      forEachWritten([&](const at::Tensor& tensor, bool) {
        const auto& now = described.at(outputs.size());
        resizeOutput(
            tensor, now.sizes, now.sizes == tensor.sizes() ? at::IntArrayRef() : now.strides, tensor.options());
        outputs.push_back(tensor);
      });
      auto results = readResults(reply, [&](const TensorText& it) {
        const auto options = at::TensorOptions(it.dtype).device(device_);
        if (it.storage) {
          return at::empty({0}, options).set_(call.storages().at(*it.storage), it.offset, it.sizes, it.strides);
        }
        return outputs.emplace_back(at::empty_strided(it.sizes, it.strides, options));
      });
      launchTake(outputs, number);
      return results;
    } catch (...) {
      launchTake({}, number); // so that the device does not keep them for ever
      throw;
    }
  }
  // LITERALINCLUDE END: RUN OP COMPUTE

  void launchTake(const std::vector<at::Tensor>& outputs, uint64_t number) {
    CallWriter take;
    if (outputs.empty()) {
      take.none();
    } else {
      take.value(c10::IValue(outputs), c10::AnyType::get());
    }
    ask(take, Mode::Take, number);
  }

  /// Name, arguments and outputs.
  void describe(CallWriter& call, const std::vector<c10::IValue>& outputs) const {
    call.text(op_.operator_name().name);
    call.text(op_.operator_name().overload_name);
    for (size_t i = 0; i < given_.size(); ++i) {
      call.value(given_[i], parameters_[i].real_type());
    }
    call.list(outputs.size());
    for (const auto& output : outputs) {
      call.value(output, c10::AnyType::get());
    }
  }

  /// Launches, and waits for the answer.
  ReplyReader ask(const CallWriter& call, Mode mode, uint64_t number) {
    launchRunOp(op_.operator_name(), call, mode, number, reply_);
    answer_ = reply_.cpu();
    ReplyReader reader({static_cast<const char*>(answer_.const_data_ptr()), answer_.nbytes()});
    checkReply(op_.operator_name(), device_, reader);
    return reader;
  }

  template <class Function>
  void forEachWritten(const Function& function) const {
    for (size_t i = 0; i < given_.size(); ++i) {
      if (isWritten(parameters_[i])) {
        for (const auto& tensor : flatTensors({given_[i]})) {
          function(tensor, parameters_[i].is_out());
        }
      }
    }
  }

  static std::vector<TensorText> readWritten(ReplyReader& reply) {
    TORCH_CHECK(reply.letter() == 'l', "run_op: the device's answer does not start with what it has written");
    std::vector<TensorText> tensors(reply.number());
    for (auto& tensor : tensors) {
      TORCH_CHECK(reply.letter() == 't', "run_op: what the device has written is no tensor");
      tensor = reply.tensor();
    }
    return tensors;
  }

  /// The results: arguments that were written to, tensors that `make` makes, and plain values.
  template <class Make>
  std::vector<c10::IValue> readResults(ReplyReader& reply, Make make) {
    TORCH_CHECK(
        reply.letter() == 'l' && reply.number() == returns_.size(), "run_op: the device's answer to '",
        op_.operator_name(), "' has not ", returns_.size(), " results");
    std::vector<c10::IValue> results;
    for (const auto& it : returns_) {
      if (isWritten(it)) {
        const auto same = std::ranges::find_if(parameters_, [&](const auto& parameter) {
          return isWritten(parameter) && *parameter.alias_info() == *it.alias_info();
        });
        skip(reply);
        results.push_back(given_.at(static_cast<size_t>(same - parameters_.begin())));
      } else {
        results.push_back(read(reply, it.type(), make));
      }
    }
    return results;
  }

  static void skip(ReplyReader& reply) {
    read(reply, c10::AnyType::get(), [](const TensorText&) { return at::Tensor(); });
  }

  template <class Make>
  static c10::IValue read(ReplyReader& reply, const c10::TypePtr& type, const Make& make) {
    const char letter = reply.letter();
    if (letter == 't') {
      return make(reply.tensor());
    }
    if (letter == 'l') {
      const auto* list = type->castRaw<c10::ListType>();
      const auto element = list != nullptr ? list->getElementType() : c10::AnyType::get();
      c10::impl::GenericList values(element);
      const auto count = reply.number();
      for (uint32_t i = 0; i < count; ++i) {
        values.push_back(read(reply, element, make));
      }
      return values;
    }
    auto value = reply.plain(letter);
    return value.isNone() && type->kind() == c10::TypeKind::TensorType ? c10::IValue(at::Tensor()) : value;
  }

  const c10::OperatorHandle& op_;
  const std::vector<c10::Argument>& parameters_;
  const std::vector<c10::Argument>& returns_;
  std::vector<c10::IValue> given_;
  c10::Device device_;
  at::Tensor reply_; // on the device
  at::Tensor answer_;
};

// LITERALINCLUDE START: DEVICE FALLBACK
/**
 * @brief Serves any operator: the device computes it. This side says which operator and where the tensors are, and
 * makes the results.
 *
 * What the results look like is found out on meta tensors, where the operator has a meta function; else the device
 * computes first and keeps the results until there are tensors for them. Either way it computes once. Blocks until the
 * device has caught up, so that an error of the operator is an error of this call.
 * @param op Operator that was called.
 * @param stack Its arguments; receives its results.
 * @throws c10::NotImplementedError if the driver has no such kernel, or for arguments that cannot be described.
 * @throws c10::Error of the device's type, with the operator, the device and the device's text.
 */
void deviceFallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const at::AutoDispatchBelowADInplaceOrView below; // wherever we were called from
  const auto arguments = op.schema().arguments().size();
  const auto device = deviceOf(torch::jit::last(*stack, arguments));
  const char* driver = "";
  check(orGetDriverName(&driver));
  TORCH_CHECK_NOT_IMPLEMENTED(
      hasRunOp(device.index()), "openreg: '", op.operator_name(),
      "' has no kernel for openreg, and the fallback 'device' cannot serve it: driver '", driver,
      "' has no kernel 'run_op', which computes operators by name");
  auto results = Call(op, *stack, device).run();
  torch::jit::drop(*stack, arguments);
  for (auto& result : results) {
    stack->push_back(std::move(result));
  }
}

const FallbackMode mode("device", deviceFallback);
// LITERALINCLUDE END: DEVICE FALLBACK

} // namespace
} // namespace openreg
