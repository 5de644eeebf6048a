// Pause points: where a test can hold a thread up, to make two threads meet at a bad moment.
#pragma once

namespace openreg::sim {

/// Holds the calling thread up as long as there is a closed gate named `point`, unless one stands there already. Does
/// nothing unless OPENREG_SIM has pause=1. To be called on paths alone that are not hot.
void pausePoint(const char* point);

} // namespace openreg::sim
