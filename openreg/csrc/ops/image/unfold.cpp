// The launch of the kernel "unfold".
#include "ops/image/unfold.h"

#include "ops/launch/kernel.h"
#include "ops/launch/missing_kernel.h"

#include <kernels/launch/pointers.h>

namespace openreg {

void launchUnfold(kernels::UnfoldArgs args, const at::Tensor& images, const at::Tensor& matrices) {
  if (at::isIntegralType(images.scalar_type(), /*includeBool=*/false)) {
    throw MissingKernel(c10::str("\"unfold\" not implemented for '", c10::toString(images.scalar_type()), "'"));
  }
  if (matrices.numel() == 0) {
    return;
  }
  args.image = const_cast<void*>(images.const_data_ptr());
  args.matrix = matrices.mutable_data_ptr();
  args.elementSize = images.element_size();
  const std::array pointers = {
      kernels::contiguousPointer(offsetof(kernels::UnfoldArgs, image), orAccessRead, images.nbytes()),
      kernels::contiguousPointer(offsetof(kernels::UnfoldArgs, matrix), orAccessWrite, matrices.nbytes()),
  };
  launch(kernel<"unfold">, images.device().index(), args, pointers);
}

} // namespace openreg
