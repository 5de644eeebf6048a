// The kernel "run_op": an operator by name, computed by a device that knows them all.
#pragma once

#include "call_text.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/operator_name.h>

namespace openreg {

// LITERALINCLUDE START: RUN OP MODE
/// What becomes of the results.
enum class Mode : uint32_t {
  Into = 0, ///< Results go into the tensors named.
  Keep = 1, ///< Results are kept under the call's number, and described.
  Take = 2, ///< Kept results go into the tensors named, or are dropped if there are none.
};
// LITERALINCLUDE END: RUN OP MODE

/** @brief Whether the driver has this kernel for a device. */
bool hasRunOp(c10::DeviceIndex device);

/**
 * @brief Queues a launch on the current stream of the reply's device. Does not block.
 * @param op Operator, for messages.
 * @param call The call in words: as long as a launch allows.
 * @param mode What becomes of the results.
 * @param number The call's, under which results are kept.
 * @param reply On the device; receives the answer.
 * @throws c10::NotImplementedError if the call is too long for a launch.
 * @throws c10::AcceleratorError.
 */
void launchRunOp(
    const c10::OperatorName& op, const CallWriter& call, Mode mode, uint64_t number, const at::Tensor& reply);

/** @brief Reads how an answer begins. @throws c10::Error what the operator has thrown on the device, if it has. */
void checkReply(const c10::OperatorName& op, c10::Device device, ReplyReader& reply);

} // namespace openreg
