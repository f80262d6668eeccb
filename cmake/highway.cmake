# Highway compiles every kernel for all instruction sets and chooses at run time.

find_package(hwy QUIET)
if(NOT hwy_FOUND)
  message(FATAL_ERROR "samplenorm needs Highway (SIMD), which is not here: on Debian and Ubuntu, apt-get install libhwy-dev; "
          "elsewhere it is called highway, and CMAKE_PREFIX_PATH may name its place.")
endif()
