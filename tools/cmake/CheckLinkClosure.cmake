# Fails the configuration when a target links a component library of LLVM or
# MLIR beside the dylib: two copies of a pass or option registry in one process
# crash far from the cause.

function(te_quant_collect_link_closure target result)
  set(seen)
  set(queue ${target})
  while(queue)
    list(POP_FRONT queue item)
    if(item IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${item})
    if(TARGET ${item})
      get_target_property(type ${item} TYPE)
      foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
        if(type STREQUAL "INTERFACE_LIBRARY" AND property STREQUAL
           "LINK_LIBRARIES")
          continue()
        endif()
        get_target_property(libraries ${item} ${property})
        if(libraries)
          string(REGEX REPLACE "\\$<LINK_ONLY:([^>]*)>" "\\1" libraries
                 "${libraries}")
          list(APPEND queue ${libraries})
        endif()
      endforeach()
    endif()
  endwhile()
  set(${result} ${seen} PARENT_SCOPE)
endfunction()

function(te_quant_check_link_closures)
  get_property(targets GLOBAL PROPERTY TE_QUANT_BINARIES)
  get_property(libraries GLOBAL PROPERTY TE_QUANT_LIBRARIES)
  foreach(target ${targets} ${libraries})
    te_quant_collect_link_closure(${target} closure)
    foreach(item ${closure})
      if(item MATCHES "^(MLIR|LLVM).+" AND NOT item MATCHES "^MLIRCAPI")
        message(FATAL_ERROR
          "'${target}' links the component library '${item}' beside the shared "
          "library MLIR: link 'MLIR' (and 'LLVM') only")
      endif()
    endforeach()
  endforeach()
endfunction()
