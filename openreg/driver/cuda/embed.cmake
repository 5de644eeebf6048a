# Writes ${OUT}: a C++ source that has the sources of kernels as text, for the compiler of the GPU's code.
#   cmake -DROOT=openreg -DOUT=sources.cpp -P embed.cmake
set(text [[
#include "cuda/sources.h"

namespace openreg::cuda {

std::span<const SourceFile> sourceFiles() {
  static constexpr SourceFile files[] = {
]])
# What stands in for a file of the kernels on a GPU comes first: that is what is found.
foreach(folder driver/cuda/device_code .)
  file(GLOB_RECURSE files RELATIVE "${ROOT}/${folder}" "${ROOT}/${folder}/*.h" "${ROOT}/${folder}/kernels/*.cpp")
  list(FILTER files INCLUDE REGEX "^kernels/|^openreg_kernel[.]h$")
  list(SORT files)
  foreach(name ${files})
    file(READ "${ROOT}/${folder}/${name}" content)
    string(APPEND text [[{"]] "${name}" [[", R"OPENREG(]] "${content}" [[)OPENREG"},]] "\n")
  endforeach()
endforeach()
string(APPEND text [[
  };
  return files;
}

} // namespace openreg::cuda
]])
file(WRITE "${OUT}" "${text}")
