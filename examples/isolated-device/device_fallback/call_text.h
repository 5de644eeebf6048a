// The call of an operator in bytes, for a device that computes operators by name (the kernel "run_op").
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace openreg {

// LITERALINCLUDE START: CALL TEXT
/**
 * @brief Writes values: a letter for the kind, then the value. Tensors go as type, storage, offset, sizes and strides;
 * a storage goes by its number, as memory is what a launch can point to.
 */
class CallWriter {
 public:
  /** @brief A text with its length. */
  void text(const std::string& value);

  /**
   * @brief Any value that an operator can be called with, but generators and streams.
   * @param value Tensors must be on the device; what is not defined is None.
   * @param type What the operator's schema says: numbers that stand for data types, layouts and formats are told apart.
   * @throws c10::NotImplementedError for values that cannot be described.
   */
  void value(const c10::IValue& value, const c10::TypePtr& type);

  /** @brief None. */
  void none() { letter('n'); }

  /** @brief The start of a list; its values follow. */
  void list(size_t size);

  const std::string& bytes() const { return bytes_; }
  const std::vector<c10::Storage>& storages() const { return storages_; }

 private:
  template <class T>
  void raw(T value);
  void letter(char letter) { bytes_.push_back(letter); }
  void tensor(const at::Tensor& tensor);

  std::string bytes_;
  std::vector<c10::Storage> storages_;
  std::unordered_map<c10::StorageImpl*, uint32_t> numbers_;
};

/** @brief A tensor as the device has described it. */
struct TensorText {
  c10::ScalarType dtype = c10::kFloat;
  std::optional<uint32_t> storage; ///< Number of the argument's storage that it is a view of; none: it is new.
  int64_t offset = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

/** @brief Reads what the device has answered. */
class ReplyReader {
 public:
  explicit ReplyReader(std::span<const char> bytes) : rest_(bytes) {}

  uint32_t number();
  std::string text();
  TensorText tensor(); ///< @brief A tensor, after its letter.

  /** @brief The next value's letter. */
  char letter();

  /** @brief The value after a letter that is none of a tensor or a list. */
  c10::IValue plain(char letter);

 private:
  template <class T>
  T raw();

  std::span<const char> rest_;
};
// LITERALINCLUDE END: CALL TEXT

} // namespace openreg
