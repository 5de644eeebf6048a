// Growing a tensor's memory.
#pragma once

#include <c10/core/Storage.h>

namespace openreg {

/**
 * @brief Gives a storage of this backend `size` bytes: new memory on its device, the old contents up to the shorter
 * length.
 *
 * The copy is queued on the device's current stream. If anything throws, the storage is as it was.
 * @throws c10::Error if the storage is not resizable; c10::OutOfMemoryError.
 */
void resizeStorage(const c10::Storage& storage, size_t size);

} // namespace openreg
