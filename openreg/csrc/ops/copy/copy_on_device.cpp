// Copies within a device: bytes as they are, and casts by a kernel.
#include "ops/copy/copy_device.h"

#include "device/error.h"
#include "ops/copy/copy_kernel.h"
#include "ops/launch/dtype.h"
#include "ops/launch/elementwise.h"
#include "stream/handle.h"

namespace openreg {
namespace {

// LITERALINCLUDE START: CAST

/// What changes the type of the elements, or what the conjugate and negative bits say about them.
const KernelFamily& castFamily(const at::Tensor& src, const at::Tensor& dst) {
  return src.is_conj() != dst.is_conj() ? kernelFamily<"conj">
         : src.is_neg() != dst.is_neg() ? kernelFamily<"neg">
                                        : kernelFamily<"cast">;
}

bool canCast(const at::Tensor& src, const at::Tensor& dst) {
  const bool both = src.is_conj() != dst.is_conj() && src.is_neg() != dst.is_neg();
  return !both && findKernelDType(dst.scalar_type()) &&
         castFamily(src, dst).find(src.scalar_type(), dst.device().index()) != nullptr;
}

void launchCast(const at::Tensor& src, const at::Tensor& dst) {
  const auto iter = at::TensorIteratorConfig()
                        .add_output(dst)
                        .add_const_input(src)
                        .resize_outputs(false)
                        .check_all_same_dtype(false)
                        .set_check_mem_overlap(false) // copyDeviceToDevice has
                        .build();
  // The source's type holds all its values, so each is rounded once: when it is stored.
  launchElementwise(castFamily(src, dst), iter, src.scalar_type());
}
// LITERALINCLUDE END: CAST

} // namespace

// LITERALINCLUDE START: COPY ON DEVICE
bool canCopyOnDevice(const at::Tensor& src, const at::Tensor& dst) {
  if (!sameBits(src, dst)) {
    return canCast(src, dst);
  }
  return sameBytes(src, dst) || hasCopyKernel(dst.device().index());
}

void copyOnDevice(const at::Tensor& src, const at::Tensor& dst) {
  if (!sameBits(src, dst)) {
    return launchCast(src, dst);
  }
  if (!sameBytes(src, dst)) {
    return launchCopy(src, dst);
  }
  const auto stream = currentStreamHandle(dst.device().index());
  check(orMemcpyAsync(dst.mutable_data_ptr(), src.const_data_ptr(), dst.nbytes(), orMemcpyDeviceToDevice, stream));
}
// LITERALINCLUDE END: COPY ON DEVICE

} // namespace openreg
