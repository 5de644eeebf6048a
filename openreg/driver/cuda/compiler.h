// Compiling kernels when they are first asked for.
#pragma once

#include <string>

namespace openreg::cuda {

struct Source;

/// The GPU's code of a kernel of a source, out of a cache on disk ($XDG_CACHE_HOME/openreg, else ~/.cache/openreg) if
/// it has been compiled before. Refuses the call, with what the compiler says, if it can't be.
/// @param architecture 90 for sm_90.
std::string compile(const Source& source, const std::string& kernel, int architecture);

} // namespace openreg::cuda
