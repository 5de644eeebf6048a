// Pinned host memory, as copies need to know about it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>
// LITERALINCLUDE START: PINNED KEPT DECLARED

#include <vector>
// LITERALINCLUDE END: PINNED KEPT DECLARED

namespace openreg {

/** @brief Whether the driver has pinned memory at all. Asks it once. Any thread. */
bool hasPinnedMemory();

/**
 * @brief Whether an address lies in pinned memory, somewhere inside an allocation too. Any thread.
 *
 * Initialises no device and never fails: for any other address, and in a forked child, the answer is no.
 */
bool isPinned(const void* data) noexcept;

/**
 * @brief An uninitialised tensor of the host, of this backend's pinned memory. Any thread.
 *
 * at::empty with pinned_memory(true) takes CUDA's where PyTorch finds a GPU, whatever the accelerator is.
 */
at::Tensor emptyPinned(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype);

/**
 * @brief Keeps pinned memory that is freed from now on from being used again before the work that is queued on `stream`
 *        when it is freed is done.
 *
 * To be called for each copy that may still be queued when the function that queues it returns. Does not block. Any
 * thread.
 * @param memory Pinned memory: of the caching allocator, or a view of it that other code has made.
 * @param stream Stream that the copy is queued on.
 * @throws c10::AcceleratorError in a forked child.
 */
void recordUse(const c10::DataPtr& memory, const c10::Stream& stream);

// LITERALINCLUDE START: PINNED KEPT DECLARED
/**
 * @brief Keeps pinned memory from being used again after it is freed, until letGoPinned() has been called as often.
 * @param base First address of the allocation.
 */
void keepPinned(const void* base);

/** @brief Its opposite. @param streams Where work on this memory may be under way. */
void letGoPinned(const void* base, const std::vector<c10::Stream>& streams) noexcept;
// LITERALINCLUDE END: PINNED KEPT DECLARED
} // namespace openreg
