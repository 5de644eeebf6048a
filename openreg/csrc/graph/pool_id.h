// Names of private memory pools.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/macros/Export.h>

namespace openreg {

/**
 * @brief A name that no pool has: torch.openreg.graph_pool_handle(). Makes no pool.
 *
 * As in CUDA's backend, the second number is set, and the first in the names that graphs choose themselves.
 */
C10_EXPORT c10::MempoolId_t graphPoolHandle();

/** @brief A name for a graph that was given none. */
c10::MempoolId_t ownPoolId();

} // namespace openreg
