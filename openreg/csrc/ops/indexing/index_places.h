// Elements that arrive where indices point, on a device that has no kernel "index_reduce".
#pragma once

#include <kernels/indexing/indexing.h>
#include <openreg.h>

#include <c10/core/Device.h>

#include <span>

namespace openreg {

/** @brief Whether a device has the kernels "index_places" and "reduce_places", and can sort. */
bool hasIndexPlaces(c10::Device device);

/**
 * @brief Does what the kernel "index_reduce" does, in several launches on the current stream. Does not block.
 *
 * The elements that have one destination are brought together by sorting, and arrive in the order in which they would
 * without.
 * @param args As of "index_reduce".
 * @param pointers Of its arguments: the dense tensor, the indexed one, the indices.
 */
void reducePlaces(c10::Device device, const kernels::IndexArgs& args, std::span<const orPointerArg> pointers);

} // namespace openreg
