// Products of matrices of halves, as a part of the kernel "gemm.float".
#pragma once

#include "kernels/linalg/blas.h"
#include "kernels/linalg/gemm.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// c = beta · c + alpha · a × b, summed in float and rounded once. No more than some tiles are ever in memory as
/// floats.
/// @param args Of type Half or BFloat16.
void multiplyHalves(const GemmArgs& args, const Blas* blas, orKernelContext& context);

/// The same where the result is a vector.
void multiplyHalvesByVector(const GemmArgs& args, orKernelContext& context);

} // namespace openreg::kernels
