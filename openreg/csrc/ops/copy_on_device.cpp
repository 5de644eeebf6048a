// Copies within a device: bytes as they are, and casts by a kernel.
#include "ops/copy_device.h"

#include "device/error.h"
#include "ops/copy_kernel.h"
#include "ops/dtype.h"
#include "ops/elementwise.h"
#include "stream/handle.h"

namespace openreg {
namespace {

// LITERALINCLUDE START: CAST
const KernelFamily kCast("cast");
const KernelFamily kConjugate("conj");
const KernelFamily kNegate("neg");

/// Queues a copy that changes the type of the elements, or what the conjugate and negative bits say about them.
bool launchCast(const at::Tensor& src, const at::Tensor& dst) {
  const bool conjugates = src.is_conj() != dst.is_conj();
  const bool negates = src.is_neg() != dst.is_neg();
  const auto& family = conjugates ? kConjugate : negates ? kNegate : kCast;
  if ((conjugates && negates) || !findKernelDType(dst.scalar_type()) ||
      family.find(src.scalar_type(), dst.device().index()) == nullptr) {
    return false; // by way of the host
  }
  const auto iter = at::TensorIteratorConfig()
                        .add_output(dst)
                        .add_const_input(src)
                        .resize_outputs(false)
                        .check_all_same_dtype(false)
                        .set_check_mem_overlap(false) // copyDeviceToDevice has
                        .build();
  // The source's type holds all its values, so each is rounded once: when it is stored.
  launchElementwise(family, iter, src.scalar_type());
  return true;
}
// LITERALINCLUDE END: CAST

} // namespace

// LITERALINCLUDE START: COPY ON DEVICE
bool copyOnDevice(const at::Tensor& src, const at::Tensor& dst) {
  if (!sameBits(src, dst)) {
    return launchCast(src, dst);
  }
  if (src.sizes() == dst.sizes() && src.strides() == dst.strides() && dst.is_non_overlapping_and_dense()) {
    const auto stream = currentStreamHandle(dst.device().index());
    check(orMemcpyAsync(dst.mutable_data_ptr(), src.const_data_ptr(), dst.nbytes(), orMemcpyDeviceToDevice, stream));
    return true;
  }
  return hasCopyKernel(dst.device().index()) && launchCopy(src, dst);
}
// LITERALINCLUDE END: COPY ON DEVICE

} // namespace openreg
