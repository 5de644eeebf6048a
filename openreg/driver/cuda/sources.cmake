# The kernels' sources as a part of the library: it compiles them for the GPU that it finds.
file(GLOB_RECURSE openreg_device_code CONFIGURE_DEPENDS
  "${CMAKE_CURRENT_SOURCE_DIR}/cuda/device_code/*.h" "${CMAKE_CURRENT_SOURCE_DIR}/../kernels/*.h"
  "${CMAKE_CURRENT_SOURCE_DIR}/../kernels/*.cpp")
set(openreg_embedded "${CMAKE_CURRENT_BINARY_DIR}/cuda_sources.cpp")
add_custom_command(
  OUTPUT ${openreg_embedded}
  COMMAND ${CMAKE_COMMAND} "-DROOT=${CMAKE_CURRENT_SOURCE_DIR}/.." "-DOUT=${openreg_embedded}"
    -P "${CMAKE_CURRENT_SOURCE_DIR}/cuda/embed.cmake"
  DEPENDS ${openreg_device_code} "${CMAKE_CURRENT_SOURCE_DIR}/cuda/embed.cmake")
target_sources(openreg_objects PRIVATE ${openreg_embedded})
