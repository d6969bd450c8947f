# Install rules and the package that find_package(TEMLIR) reads.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(te_quant_libraries GLOBAL PROPERTY TE_QUANT_LIBRARIES)
get_property(te_quant_binaries GLOBAL PROPERTY TE_QUANT_BINARIES)

set_target_properties(${te_quant_binaries} PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${LLVM_LIBRARY_DIR}")
install(TARGETS ${te_quant_libraries} EXPORT TEMLIRTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ${te_quant_binaries}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(root ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  install(DIRECTORY ${root}/include/te DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
    PATTERN CMakeFiles EXCLUDE)
endforeach()

set(TEMLIR_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/temlir)
install(EXPORT TEMLIRTargets NAMESPACE TEMLIR:: DESTINATION ${TEMLIR_CMAKE_DIR})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/tools/cmake/TEMLIRConfig.cmake.in
  ${PROJECT_BINARY_DIR}/TEMLIRConfig.cmake
  INSTALL_DESTINATION ${TEMLIR_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TEMLIRConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TEMLIRConfig.cmake
  ${PROJECT_BINARY_DIR}/TEMLIRConfigVersion.cmake
  DESTINATION ${TEMLIR_CMAKE_DIR})
