# Headers, gdb printers beside them, and a package config. Nothing here depends on the architecture.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(wengert_config_dir ${CMAKE_INSTALL_DATADIR}/cmake/wengert)

install(DIRECTORY include/wengert DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.ipp" PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
install(TARGETS wengert EXPORT wengertTargets)
install(EXPORT wengertTargets NAMESPACE wengert:: DESTINATION ${wengert_config_dir})

configure_package_config_file(.cmake/wengertConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/wengertConfig.cmake
    INSTALL_DESTINATION ${wengert_config_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/wengertConfigVersion.cmake
    COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/wengertConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/wengertConfigVersion.cmake
              ${CMAKE_CURRENT_SOURCE_DIR}/.cmake/wengertDependencies.cmake
              ${CMAKE_CURRENT_SOURCE_DIR}/.cmake/compiled.cmake
              ${CMAKE_CURRENT_SOURCE_DIR}/.cmake/precompiled.cmake
              ${CMAKE_CURRENT_SOURCE_DIR}/cuda/cuda_kernels.cmake
        DESTINATION ${wengert_config_dir})
