// Storages whose memory two processes share.
#pragma once

#include <c10/core/Storage.h>
#include <c10/macros/Export.h>

#include <cstddef>
#include <string>

namespace openreg {

// LITERALINCLUDE START: SHARED STORAGE
/// Where the memory of a storage is, for another process.
struct SharedStorage {
  std::string handle; ///< The bytes of an orIpcMemHandle: of the whole allocation, in which other tensors may lie.
  size_t offset = 0;  ///< Where the storage begins in it, in bytes.
};
// LITERALINCLUDE END: SHARED STORAGE

/**
 * @brief Names the memory of a storage to other processes. The caller keeps the storage until they are done with it.
 *
 * Blocks until the device has done all that is queued on any of its streams: the other process knows none of them.
 * @throws c10::Error if the storage is not on a device of this backend, or another process shares it with us.
 * @throws c10::NotImplementedError if the driver cannot share memory.
 * @throws c10::AcceleratorError with the driver's reason.
 */
C10_EXPORT SharedStorage shareStorage(const c10::Storage& storage);

/**
 * @brief A storage of `size` bytes in memory that another process shares. Does not block.
 *
 * Where several storages lie in one allocation, it is opened once. It is closed when the last of them is gone: soon
 * after, by a thread that waits for the device first. A storage's end never waits.
 * @param device Where it is to be; the index must be given.
 * @param done A file descriptor that is closed when this process uses the storage no longer; or -1. Ours from now on,
 *        also if this throws.
 * @throws c10::AcceleratorError with the driver's reason.
 */
C10_EXPORT c10::Storage openStorage(const SharedStorage& shared, size_t size, c10::Device device, int done);

/** @brief Whether another process shares this storage's memory with us. */
C10_EXPORT bool isOpenedStorage(const c10::Storage& storage);

} // namespace openreg
