// Random numbers of a graph: other ones at each replay.
#pragma once

#include "random/generator.h"

#include <c10/core/Allocator.h>
#include <c10/util/intrusive_ptr.h>
#include <kernels/random/philox.h>

#include <cstdint>
#include <mutex>
#include <vector>

namespace openreg {

// LITERALINCLUDE START: CAPTURED NUMBERS
/**
 * @brief The generators that a graph draws from, and for each its seed and offset in device memory.
 *
 * A kernel in a graph gets the same arguments at each replay. So they don't say where in the sequence its numbers
 * begin: they say where to read it, and how far behind it the kernel begins. Each replay writes it first, and takes as
 * many numbers from the generator as the whole graph draws.
 */
class CapturedNumbers {
 public:
  /**
   * @brief As Generator::reserve(), for a kernel that is captured. Takes nothing from the generator. Any thread.
   * @throws c10::OutOfMemoryError if there are no 16 bytes of device memory left.
   */
  kernels::PhiloxRange reserve(Generator& generator, uint64_t blocks);

  /**
   * @brief Takes the graph's numbers from the generators as they are now, and queues the writing of seeds and offsets
   *        on the current stream. Does not block.
   */
  void fill();

 private:
  struct Source {
    c10::intrusive_ptr<c10::GeneratorImpl> owner; // keeps the generator
    Generator* generator;
    c10::DataPtr memory; // seed and offset, from the graph's pool
    uint64_t blocks;     // that the whole graph draws
  };

  Source* find(const Generator& generator);

  std::mutex mutex_; // the thread that captures, and the autograd engine's, may draw at the same time
  std::vector<Source> sources_;
};
// LITERALINCLUDE END: CAPTURED NUMBERS

} // namespace openreg
