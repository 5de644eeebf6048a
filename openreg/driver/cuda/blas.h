// Matrix products by NVIDIA's library, cuBLAS: kernels that the host queues by a call of that library.
#pragma once

#include <string_view>

#include "library.h"

namespace openreg::cuda {

class Device;

/// Queues a kernel behind the work of a stream. What is wrong with the arguments fails the device in the stream's
/// order. Thread-safe.
using VendorCall = void (*)(Device& device, CUstream stream, const void* args);

/// What cuBLAS has in place of one of our kernels; null if it has nothing.
VendorCall findVendorCall(std::string_view kernel);

/// Refuses the call if cuBLAS can't be opened.
void expectBlas(const char* kernel);

/// The device's context is gone, and what cuBLAS has of it.
void forgetBlas(CUcontext context);

} // namespace openreg::cuda
