// What to do about an error of a capture.
#pragma once

#include <openreg.h>

namespace openreg {

/** @brief What the program should do instead, in words; "" for errors that have nothing to do with captures. */
const char* captureAdvice(orError_t error);

} // namespace openreg
