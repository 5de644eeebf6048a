// The levels of a driver: which part of the guide is the first to need an entry of the contract.
#pragma once

#include <string>

namespace openreg {

/**
 * @brief The level of the entry that a driver's message names, or what optional thing needs it, in words; "" if it
 * names none. Does not block.
 * @param message Such as "not implemented: orMallocHost".
 */
std::string levelOf(const std::string& message);

} // namespace openreg
