# `cmake --install` gives a prefix in which find_package(samplenorm) works. What a wheel has is another, smaller thing.

if(SKBUILD)
  # It goes by $ORIGIN, so that it finds the torch that is installed beside it; one file, without a version in its name.
  set_target_properties(samplenorm PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../torch/lib")
  set_property(TARGET samplenorm PROPERTY VERSION)
  set_property(TARGET samplenorm PROPERTY SOVERSION)
  install(TARGETS samplenorm LIBRARY DESTINATION samplenorm COMPONENT python)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/_built_with.py CONTENT "TORCH = \"@Torch_VERSION@\"\n" @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/_built_with.py DESTINATION samplenorm COMPONENT python)
  # Highway comes along where it is a shared library: whoever installs a wheel has Python packages, not Debian's.
  get_target_property(hwy_type hwy::hwy TYPE)
  if(NOT hwy_type STREQUAL "STATIC_LIBRARY")
    install(FILES $<TARGET_FILE:hwy::hwy> RENAME $<TARGET_SONAME_FILE_NAME:hwy::hwy> DESTINATION samplenorm COMPONENT python)
    install(FILES /usr/share/doc/libhwy1/copyright RENAME libhwy.copyright DESTINATION samplenorm COMPONENT python OPTIONAL)
  endif()
  return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/samplenorm)

install(TARGETS samplenorm EXPORT samplenorm_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(SAMPLENORM_MPI)
  install(TARGETS samplenorm_mpi EXPORT samplenorm_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/include/samplenorm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT samplenorm_targets NAMESPACE samplenorm:: DESTINATION ${package_folder})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/samplenormConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/samplenormConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/samplenormConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/samplenormConfig.cmake ${PROJECT_BINARY_DIR}/samplenormConfigVersion.cmake
        DESTINATION ${package_folder})
if(SAMPLENORM_APP)
  install(TARGETS samplenorm_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
