# The project's thin layer over CMake: one function per kind of target.

set_property(GLOBAL PROPERTY TE_QUANT_LIBRARIES "")
set_property(GLOBAL PROPERTY TE_QUANT_BINARIES "")

function(te_quant_set_flags target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wno-unused-parameter
      -Wno-missing-field-initializers -Wnon-virtual-dtor>)
  if(TE_QUANT_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# One precompiled header for all sources that include MLIR: it halves the time
# of a build from nothing.
function(te_quant_use_pch target)
  if(NOT TE_QUANT_PCH)
    return()
  endif()
  if(NOT TARGET TEQuantPCH)
    add_library(TEQuantPCH OBJECT ${PROJECT_SOURCE_DIR}/tools/cmake/pch.cpp)
    te_quant_set_flags(TEQuantPCH)
    target_precompile_headers(TEQuantPCH PRIVATE
      ${PROJECT_SOURCE_DIR}/tools/cmake/pch.h)
    # ccache needs gcc to leave a mark of the header in preprocessed output.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(TEQuantPCH PRIVATE -fpch-preprocess)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM TEQuantPCH)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()

# add_te_quant_library(<name> <sources>... [DEPENDS <tablegen targets>...]
#                      [LINK_LIBS <our libraries>...] [NO_MLIR])
# A static library. NO_MLIR: plain C++ without LLVM and MLIR.
function(add_te_quant_library name)
  cmake_parse_arguments(ARG "NO_MLIR" "" "DEPENDS;LINK_LIBS" ${ARGN})
  # A source that no target lists would rot unnoticed.
  file(GLOB present RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
  foreach(source ${present})
    if(NOT source IN_LIST ARG_UNPARSED_ARGUMENTS)
      message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/${source} is not listed "
                          "in its folder's CMakeLists.txt")
    endif()
  endforeach()
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(TEMLIR::${name} ALIAS ${name})
  te_quant_set_flags(${name})
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:include>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  if(NOT ARG_NO_MLIR)
    target_link_libraries(${name} PUBLIC MLIR LLVM)
    te_quant_use_pch(${name})
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY TE_QUANT_LIBRARIES ${name})
endfunction()

# add_te_quant_tool(<name> <sources>... LINK_LIBS <libraries>...)
function(add_te_quant_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  te_quant_set_flags(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} MLIR LLVM)
  set_property(GLOBAL APPEND PROPERTY TE_QUANT_BINARIES ${name})
endfunction()
