# openreg_executor: the program that is a device of the driver process; and the same in Python.
file(GLOB openreg_executor_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/process/executor/*.cpp")
one_unit_a_folder(openreg_executor_units ${openreg_executor_sources})
add_executable(openreg_executor ${openreg_executor_units} $<TARGET_OBJECTS:openreg_objects>)
# Beside the library, where it is looked for.
set_target_properties(openreg_executor PROPERTIES
  CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
  RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
  BUILD_RPATH "${openreg_here}"
  INSTALL_RPATH "$ORIGIN;${openreg_beside};${openreg_here}")
target_compile_features(openreg_executor PRIVATE cxx_std_20)
target_include_directories(openreg_executor PRIVATE
  "${CMAKE_CURRENT_SOURCE_DIR}/include" "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/..")
target_link_libraries(openreg_executor PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
target_compile_options(openreg_executor PRIVATE ${openreg_sanitize_options})
target_link_options(openreg_executor PRIVATE ${openreg_sanitize_options})
add_dependencies(openreg openreg_executor) # Who builds the library alone has what OPENREG_DRIVER=process needs.
install(TARGETS openreg_executor RUNTIME DESTINATION torch_openreg/lib COMPONENT lib)
install(TARGETS openreg_executor RUNTIME DESTINATION lib COMPONENT driver)

# A file that has changed makes CMake run again, and copy it.
file(GLOB openreg_executor_python CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/process/python/*.py")
foreach(source ${openreg_executor_python})
  get_filename_component(name ${source} NAME)
  configure_file(${source} "${CMAKE_CURRENT_BINARY_DIR}/executor_python/${name}" COPYONLY)
endforeach()
install(FILES ${openreg_executor_python} DESTINATION torch_openreg/lib/executor_python COMPONENT lib)
