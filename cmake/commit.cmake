# The commit that a build is made from, for records of figures: the target samplenorm_commit gives <generated/commit.h>,
# looked up at every build and written only when it is another. Run as a script (cmake -P) this file writes it.

if(CMAKE_SCRIPT_MODE_FILE)
  set(commit "")
  # A copy of the sources within somebody else's repository has no commit of its own.
  if(EXISTS ${SOURCE}/.git)
    execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY ${SOURCE}
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(text "#pragma once\n\n#define SAMPLENORM_COMMIT \"${commit}\"\n")
  set(written "")
  if(EXISTS ${HEADER})
    file(READ ${HEADER} written)
  endif()
  if(NOT text STREQUAL written)
    file(WRITE ${HEADER} "${text}")
  endif()
  return()
endif()

set(commit_header ${PROJECT_BINARY_DIR}/include/generated/commit.h)
add_custom_target(look_up_commit COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DHEADER=${commit_header}
                  -P ${CMAKE_CURRENT_LIST_FILE} BYPRODUCTS ${commit_header} COMMENT "" VERBATIM)
add_library(samplenorm_commit INTERFACE)
target_include_directories(samplenorm_commit INTERFACE ${PROJECT_BINARY_DIR}/include)
add_dependencies(samplenorm_commit look_up_commit)
