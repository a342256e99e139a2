# SPDX-License-Identifier: BSD-3-Clause
# `make install`: the libraries, the launcher, the header, pkg-config and CMake package files, the manual page.
include(CMakePackageConfigHelpers)

# The pkg-config files name the prefix relative to themselves: the installed tree can be moved.
file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/TrueRMA")
foreach(abi ${TRUERMA_ABIS})
    set_target_properties(truerma-${abi} PROPERTIES EXPORT_NAME ${abi})
    target_include_directories(truerma-${abi} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    # A program all of whose MPI calls are wrapped would otherwise lose its libmpi, where --as-needed is the default.
    target_link_options(truerma-${abi} INTERFACE "LINKER:--no-as-needed")
    install(TARGETS truerma-${abi} EXPORT TrueRMATargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/truerma.pc.in" "${CMAKE_BINARY_DIR}/pkgconfig/truerma-${abi}.pc" @ONLY)
    install(FILES "${CMAKE_BINARY_DIR}/pkgconfig/truerma-${abi}.pc"
            DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()

install(TARGETS truerma-session LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}") # for truerma launch
install(TARGETS truerma RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/include/truerma.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${CMAKE_BINARY_DIR}/man/truerma.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")

install(EXPORT TrueRMATargets NAMESPACE TrueRMA:: DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/TrueRMAConfig.cmake.in"
                              "${CMAKE_BINARY_DIR}/cmake/TrueRMAConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/cmake/TrueRMAConfigVersion.cmake"
                                 COMPATIBILITY SameMajorVersion)
install(FILES "${CMAKE_BINARY_DIR}/cmake/TrueRMAConfig.cmake" "${CMAKE_BINARY_DIR}/cmake/TrueRMAConfigVersion.cmake"
        DESTINATION "${package_dir}")
