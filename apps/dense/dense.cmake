# add_dense_app(NAME source...): an application that links OpenBLAS and what lies in this folder.
#
# The serial build of OpenBLAS is preferred where the distribution has one (Debian: libopenblas-serial-dev). The
# threaded one starts a thread for each core when it is loaded, whatever the program asks for later.
set(openblas_serial "${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial")
find_library(OPENBLAS_LIBRARY openblas HINTS "/usr/lib/${openblas_serial}" PATH_SUFFIXES openblas)
find_path(OPENBLAS_INCLUDE_DIR cblas.h HINTS "/usr/include/${openblas_serial}" PATH_SUFFIXES openblas)
set(DENSE_DIR "${CMAKE_CURRENT_LIST_DIR}")

function(add_dense_app name)
    if(NOT OPENBLAS_LIBRARY OR NOT OPENBLAS_INCLUDE_DIR)
        message(WARNING "OpenBLAS not found (Debian: libopenblas-serial-dev): the application ${name} is not built")
        return()
    endif()
    get_filename_component(folder "${OPENBLAS_LIBRARY}" DIRECTORY)
    add_app(${name} ${ARGN} "${DENSE_DIR}/dense.c"
            INCLUDES "${DENSE_DIR}"
            FLAGS -isystem "${OPENBLAS_INCLUDE_DIR}"
            LIBS "${OPENBLAS_LIBRARY}" "-Wl,-rpath,${folder}")
endfunction()
