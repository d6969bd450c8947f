# Finds a packaged MLIR 22.1 and sets up TableGen, includes and definitions.

# A version range with only a major number is rejected by the package.
find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir)
message(STATUS "Using MLIR ${LLVM_VERSION} in ${MLIR_DIR}")

foreach(dylib MLIR LLVM)
  if(NOT TARGET ${dylib})
    message(FATAL_ERROR "the MLIR package in ${MLIR_DIR} has no shared library "
                        "'${dylib}': te-mlir links the dylibs only")
  endif()
endforeach()

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

separate_arguments(te_quant_llvm_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${te_quant_llvm_definitions})
# SYSTEM: our warnings stay ours.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)
set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR})
