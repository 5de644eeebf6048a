// Where device memory comes from.
#pragma once

#include <c10/core/Allocator.h>

namespace openreg {

/** @brief The allocator of this backend: memory of the calling thread's current device. Any thread. */
c10::Allocator* allocator();

} // namespace openreg
