// The call of an operator in bytes.
#include "call_text.h"

#include "ops/launch/dtype.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <c10/util/Exception.h>

#include <array>
#include <cstring>

namespace openreg {
namespace {

constexpr uint32_t kOwn = UINT32_MAX; // in place of a storage's number
constexpr const char* kName = "run_op";

c10::ScalarType scalarType(int32_t number) {
  for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
    const auto type = static_cast<c10::ScalarType>(i);
    if (const auto known = findKernelDType(type); known && static_cast<int32_t>(*known) == number) {
      return type;
    }
  }
  TORCH_CHECK(false, "run_op: the device's answer has the data type ", number, ", which there is not");
}

/// What an argument's type says without "optional".
c10::TypeKind kindOf(const c10::TypePtr& type) {
  const auto* optional = type->castRaw<c10::OptionalType>();
  return (optional != nullptr ? optional->getElementType() : type)->kind();
}

} // namespace

// LITERALINCLUDE START: CALL WRITER
template <class T>
void CallWriter::raw(T value) {
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void CallWriter::text(const std::string& value) {
  raw(static_cast<uint32_t>(value.size()));
  bytes_ += value;
}

void CallWriter::list(size_t size) {
  letter('l');
  raw(static_cast<uint32_t>(size));
}

void CallWriter::tensor(const at::Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      tensor.layout() == c10::kStrided && !tensor.is_conj() && !tensor.is_neg(), "run_op: a tensor of layout ",
      tensor.layout(), tensor.is_conj() || tensor.is_neg() ? " that is conjugated or negated lazily" : "",
      " cannot be described to the device");
  const auto& storage = tensor.storage();
  const auto [entry, isNew] = numbers_.emplace(storage.unsafeGetStorageImpl(), storages_.size());
  if (isNew) {
    storages_.push_back(storage);
  }
  letter('t');
  raw(static_cast<int32_t>(kernelDType(tensor.scalar_type(), kName)));
  raw(entry->second);
  raw(tensor.storage_offset());
  raw(static_cast<uint32_t>(tensor.dim()));
  for (const int64_t size : tensor.sizes()) {
    raw(size);
  }
  for (const int64_t stride : tensor.strides()) {
    raw(stride);
  }
}

void CallWriter::value(const c10::IValue& value, const c10::TypePtr& type) {
  const auto kind = kindOf(type);
  if (value.isNone() || (value.isTensor() && !value.toTensor().defined())) {
    none();
  } else if (value.isTensor()) {
    tensor(value.toTensor());
  } else if (value.isList()) {
    const auto items = value.toListRef();
    const auto* optional = type->castRaw<c10::OptionalType>();
    const auto* listType = (optional != nullptr ? optional->getElementType() : type)->castRaw<c10::ListType>();
    list(items.size());
    for (const auto& item : items) {
      this->value(item, listType != nullptr ? listType->getElementType() : c10::AnyType::get());
    }
  } else if (kind == c10::TypeKind::ScalarTypeType) {
    letter('d');
    raw(static_cast<int32_t>(kernelDType(value.toScalarType(), kName)));
  } else if (kind == c10::TypeKind::LayoutType) {
    letter('y');
    raw(static_cast<int32_t>(value.toInt()));
  } else if (kind == c10::TypeKind::MemoryFormatType) {
    letter('m');
    raw(static_cast<int32_t>(value.toInt()));
  } else if (value.isBool()) {
    letter('b');
    raw(static_cast<uint8_t>(value.toBool()));
  } else if (value.isInt() || value.isSymInt()) {
    letter('i');
    raw(value.isInt() ? value.toInt() : value.toSymInt().guard_int(__FILE__, __LINE__));
  } else if (value.isDouble() || value.isSymFloat()) {
    letter('f');
    raw(value.isDouble() ? value.toDouble() : value.toSymFloat().guard_float(__FILE__, __LINE__));
  } else if (value.isComplexDouble()) {
    letter('c');
    raw(value.toComplexDouble().real());
    raw(value.toComplexDouble().imag());
  } else if (value.isString()) {
    letter('s');
    text(value.toStringRef());
  } else if (value.isDevice()) {
    letter('v');
  } else {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, "run_op: a value of type ", value.tagKind(), " cannot be described to the device");
  }
}
// LITERALINCLUDE END: CALL WRITER

// LITERALINCLUDE START: REPLY READER
template <class T>
T ReplyReader::raw() {
  TORCH_CHECK(rest_.size() >= sizeof(T), "run_op: the device's answer ends too soon");
  T value;
  std::memcpy(&value, rest_.data(), sizeof(value));
  rest_ = rest_.subspan(sizeof(value));
  return value;
}

uint32_t ReplyReader::number() {
  return raw<uint32_t>();
}

char ReplyReader::letter() {
  return raw<char>();
}

std::string ReplyReader::text() {
  const auto size = raw<uint32_t>();
  TORCH_CHECK(rest_.size() >= size, "run_op: the device's answer ends too soon");
  std::string value(rest_.data(), size);
  rest_ = rest_.subspan(size);
  return value;
}

TensorText ReplyReader::tensor() {
  TensorText value;
  value.dtype = scalarType(raw<int32_t>());
  const auto storage = raw<uint32_t>();
  if (storage != kOwn) {
    value.storage = storage;
  }
  value.offset = raw<int64_t>();
  const auto dims = raw<uint32_t>();
  for (auto* numbers : {&value.sizes, &value.strides}) {
    for (uint32_t i = 0; i < dims; ++i) {
      numbers->push_back(raw<int64_t>());
    }
  }
  return value;
}

c10::IValue ReplyReader::plain(char letter) {
  switch (letter) {
    case 'n':
      return {};
    case 'b':
      return raw<uint8_t>() != 0;
    case 'i':
      return raw<int64_t>();
    case 'f':
      return raw<double>();
    case 'c': {
      const auto real = raw<double>();
      return c10::complex<double>(real, raw<double>());
    }
    case 's':
      return text();
    default:
      TORCH_CHECK(false, "run_op: a value of the device's answer starts with '", letter, "'");
  }
}
// LITERALINCLUDE END: REPLY READER

} // namespace openreg
