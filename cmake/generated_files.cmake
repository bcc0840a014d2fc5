# Writes what is made by the finished program into OUTPUT_DIR: completion/{bash,zsh,fish}, and with
# SCDOC man/man1 and man/man7. PROGRAM, MAN_PAGES: the executables. EPOCH: the pages' date. Run as a
# script at build time.
file(REMOVE_RECURSE ${OUTPUT_DIR})
file(MAKE_DIRECTORY ${OUTPUT_DIR}/completion)
foreach(shell bash zsh fish)
  execute_process(COMMAND ${PROGRAM} completion ${shell} OUTPUT_FILE ${OUTPUT_DIR}/completion/${shell}
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(SCDOC)
  file(MAKE_DIRECTORY ${OUTPUT_DIR}/scd ${OUTPUT_DIR}/man/man1 ${OUTPUT_DIR}/man/man7)
  execute_process(COMMAND ${MAN_PAGES} ${OUTPUT_DIR}/scd COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB sources ${OUTPUT_DIR}/scd/*.scd)
  foreach(source ${sources})
    get_filename_component(page ${source} NAME)
    string(REGEX REPLACE "\\.scd$" "" page ${page})
    string(REGEX REPLACE ".*\\." "" section ${page})
    execute_process(COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=${EPOCH} ${SCDOC}
      INPUT_FILE ${source} OUTPUT_FILE ${OUTPUT_DIR}/man/man${section}/${page}
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endif()
