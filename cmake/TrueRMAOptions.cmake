# SPDX-License-Identifier: BSD-3-Clause
# How everything in this tree is compiled: language, warnings, optimisation, sanitizers, where things land.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Kind of build" FORCE)
endif()
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O3 -g") # assertions stay on

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # gnu17: the library lives on Linux system calls
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

set(TRUERMA_SANITIZE "" CACHE STRING
    "Sanitizers for -fsanitize= (address,undefined or thread); such a build holds the core and its tests only")
if(TRUERMA_SANITIZE)
    add_compile_options(-fsanitize=${TRUERMA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${TRUERMA_SANITIZE})
endif()

option(TRUERMA_WERROR "Treat compiler warnings as errors" ON)
add_compile_options(-Wall -Wextra)
if(TRUERMA_WERROR AND NOT TRUERMA_SANITIZE) # instrumented code makes GCC warn of what cannot happen
    add_compile_options(-Werror)
endif()
