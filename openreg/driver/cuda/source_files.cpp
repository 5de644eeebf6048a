// The sources of kernels, as embed.cmake has written them down.
#include "sources.h"

namespace openreg::cuda {

std::span<const SourceFile> sourceFiles() {
  static constexpr SourceFile kFiles[] = {
#include "source_files.inc"
  };
  return kFiles;
}

} // namespace openreg::cuda
