// Waiting until the autograd engine's threads have nothing left to do.
#pragma once

#include <c10/macros/Export.h>

namespace openreg {

/**
 * @brief Blocks until the engine's thread of each device has let go of every graph that it has worked on.
 *
 * backward() returns when the gradients are there; a thread may still be destroying the graph then, with Python objects
 * in it. Needs no device work, and does nothing in a process without a backward pass. The caller must not hold the GIL.
 */
C10_EXPORT void waitForIdleEngine();

} // namespace openreg
