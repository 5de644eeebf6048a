# Assembles the sources of the step that includes this into BUILD/src, and builds them there.
#
#   cmake -G Ninja -S steps/03-fallback -B build/x && cmake --build build/x
find_package(Python COMPONENTS Interpreter REQUIRED)
execute_process(
  COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/assemble.py ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_BINARY_DIR}/src
  OUTPUT_VARIABLE sources
  COMMAND_ERROR_IS_FATAL ANY)
# A change of the complete tree, or of the steps, assembles anew.
file(GLOB steps ${CMAKE_CURRENT_LIST_DIR}/*.py ${CMAKE_CURRENT_LIST_DIR}/*/step.toml)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources} ${steps})
add_subdirectory(${CMAKE_BINARY_DIR}/src ${CMAKE_BINARY_DIR}/step)
