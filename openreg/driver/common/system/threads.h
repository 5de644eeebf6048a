// Threads of the simulator.
#pragma once

#include <functional>

namespace openreg {

/// Starts a thread that nobody joins: at the end of the process it stops wherever it is, and all it uses outlives it.
/// @param name Shown by debuggers and top; at most 15 characters.
/// @param body What it does.
/// @param last Called when the thread counts as ended; whoever has waited for this finds it gone from threadCount.
void startThread(const char* name, std::function<void()> body, std::function<void()> last = [] {});

/// Threads that have been started and are alive.
int threadCount();

} // namespace openreg
