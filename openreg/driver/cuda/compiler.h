// Compiling kernels, when they are first asked for or ahead.
#pragma once

#include <string>

#include "cache.h"

namespace openreg::cuda {

struct Source;

/// The GPU's code of a kernel of a source: out of the cache, if it has been compiled before, and then `file` says which
/// file. Refuses the call, with what the compiler says, if it can't be compiled.
/// @param architecture 90 for sm_90.
/// @param anew Whether what is in the cache is of no use.
Kept compile(const Source& source, const std::string& kernel, int architecture, bool anew = false);

/// The same into a folder of the caller's. False if it was there.
bool compileAhead(const Source& source, const std::string& kernel, int architecture, const std::string& folder);

/// Whether there is a compiler. Opens its library.
bool canCompile();

} // namespace openreg::cuda
