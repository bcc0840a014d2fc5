# Runs cmake/coroutine_check.cc once per build directory: some compilers miscompile coroutines.
if(NOT DEFINED IDLESIM_COROUTINES_OK)
  try_run(IDLESIM_COROUTINES_EXIT IDLESIM_COROUTINES_BUILT
    ${CMAKE_BINARY_DIR}/coroutine_check ${CMAKE_SOURCE_DIR}/cmake/coroutine_check.cc
    CMAKE_FLAGS -DCMAKE_CXX_STANDARD=20 -DCMAKE_CXX_STANDARD_REQUIRED=ON)
  if(NOT IDLESIM_COROUTINES_BUILT OR NOT IDLESIM_COROUTINES_EXIT EQUAL 0)
    message(FATAL_ERROR
      "${CMAKE_CXX_COMPILER} does not compile C++20 coroutines correctly "
      "(cmake/coroutine_check.cc fails). Use g++ 12 or clang 14 or newer.")
  endif()
  set(IDLESIM_COROUTINES_OK TRUE CACHE INTERNAL "The compiler passes cmake/coroutine_check.cc")
endif()
