# Warnings, the compiler cache and the sanitizers, for every target of this project.

find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers need the sloppiness: ccache cannot see into them, and they hold the time of their making. Paths below the
  # sources count as relative, so that another checkout finds what this one has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE})
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()

# -fPIC everywhere, programs too, so that all can use one precompiled header.
add_compile_options(-fPIC)

# -ffp-contract=off: the same expression gives the same bits in forward and backward.
add_compile_options(-Wall -Wextra -Wshadow -ffp-contract=off -fdiagnostics-color=auto)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # GCC 12 warns of its own std::string concatenation (GCC bug 105651)
endif()

if(CMAKE_UNITY_BUILD)
  # As our presets have it: several sources in one go, since every source that sees libtorch's headers costs ten seconds before its
  # first line, precompiled or not. To the compiler they are included files then, and it warns of types that only they can see.
  add_compile_options(-Wno-subobject-linkage)
endif()

if(SAMPLENORM_SANITIZE)
  add_compile_options(-Werror -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
