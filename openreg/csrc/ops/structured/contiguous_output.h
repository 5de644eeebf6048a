// Outputs for kernels that write contiguous memory only.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace openreg {

/** @brief Contiguous memory that a kernel writes in place of an output; finish() brings what it wrote there. */
class ContiguousOutput {
 public:
  /**
   * @param output Its own memory serves if it is contiguous. May be undefined: then so is tensor().
   * @param type That the kernel writes, if it is another than the output's.
   */
  explicit ContiguousOutput(const at::Tensor& output, std::optional<at::ScalarType> type = std::nullopt);

  const at::Tensor& tensor() const { return tensor_; }

  /** @brief Queues the copy into the output, if there is one to make. To be called when the kernel has been launched.
   */
  void finish() const;

 private:
  at::Tensor output_;
  at::Tensor tensor_;
};

} // namespace openreg
