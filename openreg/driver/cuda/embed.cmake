# Writes ${OUT}: the sources of kernels as text, for the compiler of the GPU's code. source_files.cpp includes it.
#   cmake -DROOT=openreg -DOUT=source_files.inc -P embed.cmake
set(text "")
# What stands in for a file of the kernels on a GPU comes first: that is what is found.
foreach(folder driver/cuda/device_code .)
  file(GLOB_RECURSE files RELATIVE "${ROOT}/${folder}" "${ROOT}/${folder}/*.h" "${ROOT}/${folder}/kernels/*.cpp")
  list(FILTER files INCLUDE REGEX "^kernels/|^openreg_kernel[.]h$")
  list(SORT files)
  foreach(name ${files})
    file(READ "${ROOT}/${folder}/${name}" content)
    string(APPEND text [[{"]] "${name}" [[", R"KERNELS(]] "${content}" [[)KERNELS"},]] "\n")
  endforeach()
endforeach()
file(WRITE "${OUT}" "${text}")
