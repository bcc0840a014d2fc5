# What `cmake --install` puts where: program, library, headers, shipped files, completion, manual
# pages, and how CMake and pkg-config find the library.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

find_program(SCDOC scdoc)
add_executable(man_pages EXCLUDE_FROM_ALL cmake/man_pages.cc)
target_link_libraries(man_pages PRIVATE idlesim_lib)
set(made ${CMAKE_BINARY_DIR}/generated/install)
# The pages carry the date of the commit, so that the same sources give the same pages.
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} log -1 --format=%ct
  OUTPUT_VARIABLE commit_date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit_date)
  set(commit_date 0)
endif()
if(SCDOC)
  set(man_program man_pages)
else()
  message(STATUS "scdoc is not installed: no manual pages")
  set(man_program "")
endif()
add_custom_command(OUTPUT ${made}.stamp
  COMMAND ${CMAKE_COMMAND} -DOUTPUT_DIR=${made} -DPROGRAM=$<TARGET_FILE:idlesim>
    -DMAN_PAGES=$<TARGET_FILE:man_pages> -DSCDOC=$<$<BOOL:${SCDOC}>:${SCDOC}> -DEPOCH=${commit_date}
    -P ${CMAKE_SOURCE_DIR}/cmake/generated_files.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${made}.stamp
  DEPENDS idlesim ${man_program} cmake/generated_files.cmake VERBATIM)
add_custom_target(install_files ALL DEPENDS ${made}.stamp)

install(TARGETS idlesim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY sim-configs DESTINATION ${CMAKE_INSTALL_DATADIR}/idlesim
  FILES_MATCHING PATTERN "*.json")
install(FILES ${made}/completion/bash RENAME idlesim
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${made}/completion/zsh RENAME _idlesim
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${made}/completion/fish RENAME idlesim.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
if(SCDOC)
  install(DIRECTORY ${made}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR})
endif()

install(TARGETS idlesim_lib EXPORT idlesimTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/idlesim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/idlesim)
install(EXPORT idlesimTargets NAMESPACE idlesim:: DESTINATION ${package_dir})
configure_file(cmake/idlesimConfig.cmake.in ${CMAKE_BINARY_DIR}/generated/idlesimConfig.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/idlesimConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/idlesimConfig.cmake
  ${CMAKE_BINARY_DIR}/generated/idlesimConfigVersion.cmake DESTINATION ${package_dir})
# The prefix is known when it is installed, not before.
install(CODE "set(CMAKE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
set(CMAKE_INSTALL_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
set(PROJECT_VERSION \"${PROJECT_VERSION}\")
configure_file(\"${CMAKE_SOURCE_DIR}/cmake/idlesim.pc.in\"
  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/idlesim.pc\" @ONLY)")
