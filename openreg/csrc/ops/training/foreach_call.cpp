// Operators over lists of tensors: what kernels can take, and how many tensors fit into a launch.
#include "ops/training/foreach_call.h"

#include "ops/launch/dtype.h"
#include "ops/launch/scalar.h"

#include <kernels/launch/pointers.h>

#include <ATen/OpMathType.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace openreg {
namespace {

/// A launch that is being filled with tensors. A full one is queued, and the next one begins.
class ListLaunch {
 public:
  ListLaunch(const Kernel& kernel, c10::DeviceIndex device, int operands, bool inPlace, kernels::DType common)
      : kernel_(kernel), device_(device) {
    args_.tensors = 0;
    args_.operands = operands;
    args_.common = common;
    args_.inPlace = inPlace ? 1 : 0;
  }

  /// Makes room for one more tensor. @param pointers As many as it brings.
  kernels::ListEntry& next(size_t pointers) {
    if (args_.size() + args_.entrySize() > sizeof(args_) || pointerCount_ + pointers > pointers_.size()) {
      flush();
    }
    return args_.entry(args_.tensors++);
  }

  void pointer(kernels::Operand& operand, const at::Tensor& tensor, uint32_t access) {
    operand.data = const_cast<void*>(tensor.const_data_ptr());
    pointers_[pointerCount_++] =
        kernels::contiguousPointer(kernels::offsetIn(args_, &operand.data), access, tensor.nbytes());
  }

  void flush() {
    if (args_.tensors > 0) {
      launch(kernel_, device_, args_, std::span(pointers_).first(pointerCount_), args_.size());
    }
    args_.tensors = 0;
    pointerCount_ = 0;
  }

 private:
  const Kernel& kernel_;
  c10::DeviceIndex device_;
  kernels::ListArgs args_; // not initialised as a whole: most of it is not used
  std::array<orPointerArg, OPENREG_MAX_POINTER_ARGS> pointers_;
  size_t pointerCount_ = 0;
};

constexpr int kReadWrite = int{orAccessRead} | int{orAccessWrite};

/// A number as an operand that is no tensor: of the type that PyTorch wraps it in.
void putNumber(kernels::Operand& operand, const c10::Scalar& number) {
  operand.immediate = 1;
  operand.dtype = number.isIntegral(/*includeBool=*/false) ? kernels::DType::Int64 : kernels::DType::Double;
  putScalar(operand.value, number, operand.dtype);
}

const c10::Scalar& ofIndex(at::ArrayRef<c10::Scalar> numbers, size_t i) {
  return numbers.size() == 1 ? numbers[0] : numbers[i];
}

/// Whether tensors have the same elements at the same places of their memory, without gaps.
bool areOfOneLayout(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) {
    return false;
  }
  for (int64_t dim = 0; dim < a.dim(); ++dim) {
    if (a.size(dim) != 1 && a.stride(dim) != b.stride(dim)) {
      return false;
    }
  }
  return true;
}

bool isOfKind(const at::Tensor& tensor, const at::Tensor& like) {
  return tensor.scalar_type() == like.scalar_type() && tensor.device() == like.device() &&
         tensor.layout() == at::kStrided && !tensor.is_conj() && !tensor.is_neg();
}

} // namespace

void ForeachCall::operand(at::TensorList tensors) {
  first_ = first_.empty() ? tensors : first_;
  operands_.push_back({tensors, {}, nullptr});
}
void ForeachCall::operand(const at::Tensor& tensor) {
  operands_.push_back({{}, {}, &tensor});
}
void ForeachCall::operand(at::ArrayRef<c10::Scalar> numbers) {
  operands_.push_back({{}, numbers, nullptr});
}
void ForeachCall::operand(const c10::Scalar& number) {
  operands_.push_back({{}, at::ArrayRef<c10::Scalar>(number), nullptr});
}
void ForeachCall::parameter(at::ArrayRef<c10::Scalar> numbers) {
  parameters_ = numbers;
}
void ForeachCall::parameter(const c10::Scalar& number, int sign) {
  parameter_ = sign < 0 ? -number : number;
  parameters_ = at::ArrayRef<c10::Scalar>(*parameter_);
}

// LITERALINCLUDE START: FOREACH FITS
bool ForeachCall::fits() const {
  if (first_.empty()) {
    return false;
  }
  const auto& like = first_[0];
  const auto type = like.scalar_type();
  if (!like.is_privateuseone() || !at::isFloatingType(type) || family_->find(type, like.device().index()) == nullptr) {
    return false;
  }
  const auto areReal = [&](at::ArrayRef<c10::Scalar> numbers) {
    return (numbers.size() == 1 || numbers.size() == first_.size()) &&
           std::none_of(numbers.begin(), numbers.end(), [&](const c10::Scalar& number) {
             return number.isBoolean() || number.isComplex() || std::isnan(number.toDouble());
           });
  };
  if (!parameters_.empty() && !areReal(parameters_)) {
    return false;
  }
  return std::all_of(operands_.begin(), operands_.end(), [&](const Operand& operand) {
    if (operand.single != nullptr) {
      return operand.single->dim() == 0 && isOfKind(*operand.single, like);
    }
    if (!operand.numbers.empty()) {
      return areReal(operand.numbers);
    }
    bool fit = operand.tensors.size() == first_.size();
    for (size_t i = 0; fit && i < first_.size(); ++i) {
      const auto& tensor = operand.tensors[i];
      fit = isOfKind(tensor, like) && areOfOneLayout(tensor, first_[i]) && tensor.is_non_overlapping_and_dense();
    }
    return fit;
  });
}
// LITERALINCLUDE END: FOREACH FITS

/// Whether what is written at one index is read or written at no other. Tensor by tensor, the later ones would see what
/// became of the earlier ones; in one launch there is no order.
bool ForeachCall::areApart() const {
  struct Written {
    const char* begin;
    const char* end;
    size_t index;
  };
  const auto extent = [](const at::Tensor& tensor) {
    const auto* begin = static_cast<const char*>(tensor.const_data_ptr());
    return std::pair(begin, begin + tensor.nbytes());
  };
  c10::SmallVector<Written, 64> written;
  for (size_t i = 0; i < first_.size(); ++i) {
    const auto [begin, end] = extent(first_[i]);
    if (begin != end) {
      written.push_back({begin, end, i});
    }
  }
  std::sort(written.begin(), written.end(), [](const Written& a, const Written& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < written.size(); ++i) {
    if (written[i].begin < written[i - 1].end) {
      return false;
    }
  }
  const auto isApart = [&](const at::Tensor& tensor, size_t index) {
    const auto [begin, end] = extent(tensor);
    const auto* at =
        std::partition_point(written.begin(), written.end(), [begin = begin](auto& w) { return w.end <= begin; });
    return at == written.end() || end <= at->begin || (at->index == index && at->begin == begin);
  };
  return std::all_of(operands_.begin() + 1, operands_.end(), [&](const Operand& operand) {
    if (operand.single != nullptr) {
      return isApart(*operand.single, first_.size());
    }
    for (size_t i = 0; i < operand.tensors.size(); ++i) {
      if (!isApart(operand.tensors[i], i)) {
        return false;
      }
    }
    return true;
  });
}

void ForeachCall::compute(at::TensorList outputs) const {
  const auto elements = first_[0].scalar_type();
  const auto type = rounds_ ? elements : at::toOpMathType(elements); // else a number is not rounded to half first
  const auto device = first_[0].device().index();
  const auto common = kernelDType(type, family_->name());
  const bool inPlace = outputs.data() == first_.data();
  const auto own = inPlace ? size_t{0} : size_t{1}; // of the operands, those that are no input
  ListLaunch launch(
      family_->get(type, device), device, static_cast<int>(operands_.size() + own), inPlace && !overwrites_, common);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].numel() == 0) {
      continue;
    }
    auto& entry = launch.next(operands_.size() + own);
    entry.count = outputs[i].numel();
    if (!parameters_.empty()) {
      putScalar(entry.parameters, ofIndex(parameters_, i), common);
    }
    const auto put = [&](size_t at, const at::Tensor& tensor, int32_t immediate, uint32_t access) {
      auto& operand = entry.operand(static_cast<int>(at));
      operand.dtype = kernelDType(tensor.scalar_type(), family_->name());
      operand.immediate = immediate;
      launch.pointer(operand, tensor, access);
    };
    if (!inPlace) {
      put(0, outputs[i], 0, orAccessWrite);
    }
    for (size_t k = 0; k < operands_.size(); ++k) {
      const auto& operand = operands_[k];
      if (!operand.numbers.empty()) {
        putNumber(entry.operand(static_cast<int>(k + own)), ofIndex(operand.numbers, i));
      } else if (operand.single != nullptr) {
        put(k + own, *operand.single, kernels::kSingle, orAccessRead);
      } else {
        const auto access = !inPlace || k > 0 ? orAccessRead : overwrites_ ? orAccessWrite : kReadWrite;
        put(k + own, operand.tensors[i], 0, static_cast<uint32_t>(access));
      }
    }
  }
  launch.flush();
}

std::optional<std::vector<at::Tensor>> ForeachCall::results() {
  if (!fits()) {
    return std::nullopt;
  }
  std::vector<at::Tensor> made;
  made.reserve(first_.size());
  for (const auto& tensor : first_) {
    made.push_back(at::empty_like(tensor));
  }
  compute(made);
  return made;
}

bool ForeachCall::inPlace() {
  if (!fits() || !areApart()) {
    return false;
  }
  compute(first_);
  return true;
}

} // namespace openreg
