// Which exception the program is handling.
#pragma once

#include <c10/macros/Export.h>

namespace openreg {

// LITERALINCLUDE START: HANDLED EXCEPTION
/// Names the exception that the calling thread is handling; null if none. To compare only.
using HandledException = const void* (*)();

/** @brief Says how to ask. The bindings do; in a program without Python there is never one. */
C10_EXPORT void setHandledException(HandledException function);

/**
 * @brief The exception that the calling thread is handling. Called without the GIL.
 *
 * `with graph:` calls capture_end() while an exception leaves it, too. One that was not there when the capture began is
 * that one: it has ended the capture, and an error of capture_end() would hide it.
 */
const void* handledException();
// LITERALINCLUDE END: HANDLED EXCEPTION

} // namespace openreg
