# The kernels' sources as a part of the library: it compiles them for the GPU that it finds.
file(GLOB_RECURSE openreg_device_code CONFIGURE_DEPENDS
  "${CMAKE_CURRENT_SOURCE_DIR}/cuda/device_code/*.h" "${CMAKE_CURRENT_SOURCE_DIR}/../kernels/*.h"
  "${CMAKE_CURRENT_SOURCE_DIR}/../kernels/*.cpp")
set(openreg_embedded "${CMAKE_CURRENT_BINARY_DIR}/embedded/source_files.inc")
add_custom_command(
  OUTPUT ${openreg_embedded}
  COMMAND ${CMAKE_COMMAND} "-DROOT=${CMAKE_CURRENT_SOURCE_DIR}/.." "-DOUT=${openreg_embedded}"
    -P "${CMAKE_CURRENT_SOURCE_DIR}/cuda/embed.cmake"
  DEPENDS ${openreg_device_code} "${CMAKE_CURRENT_SOURCE_DIR}/cuda/embed.cmake")
# A unit of its own, so that a kernel that changes costs no more than this file.
target_sources(openreg_objects PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/cuda/source_files.cpp")
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/cuda/source_files.cpp PROPERTIES
  OBJECT_DEPENDS ${openreg_embedded} INCLUDE_DIRECTORIES "${CMAKE_CURRENT_BINARY_DIR}/embedded")
