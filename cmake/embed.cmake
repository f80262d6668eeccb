# samplenorm_embed(OUTPUT HEADER FUNCTION FILES...): a source file OUTPUT with the function FUNCTION, declared in HEADER,
# which gives the files' contents by name. The assembler takes them in as they are: a compiler is slow with long texts.

function(samplenorm_embed output header function)
  set(declarations "")
  set(assembly "")
  set(entries "")
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME)
    string(MAKE_C_IDENTIFIER "samplenorm_embedded_${name}" symbol)
    string(APPEND declarations "extern \"C\" const char ${symbol}[], ${symbol}_end[];\n")
    string(APPEND assembly ".global ${symbol}, ${symbol}_end\n${symbol}:\n.incbin \"${file}\"\n${symbol}_end:\n.byte 0\n")
    string(APPEND entries "      {\"${name}\", {${symbol}, static_cast<std::size_t>(${symbol}_end - ${symbol})}},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT [[// Written by cmake/embed.cmake.
#include "@header@"

asm(R"(
.pushsection .rodata
@assembly@.popsection
)");

@declarations@
std::map<std::string, std::string_view> @function@() {
  return {
@entries@  };
}
]] @ONLY)
  set_source_files_properties(${output} PROPERTIES OBJECT_DEPENDS "${ARGN}")
endfunction()

# samplenorm_licences(OUTPUT NODE_MODULES): the licences of all packages in one file, each text once.
function(samplenorm_licences output folder)
  file(GLOB files ${folder}/*/LICENSE* ${folder}/@*/*/LICENSE*)
  set(digests "")
  set(all "")
  foreach(file ${files})
    file(SHA256 ${file} digest)
    if(NOT digest IN_LIST digests)
      list(APPEND digests ${digest})
      file(READ ${file} text)
      get_filename_component(package ${file} DIRECTORY)
      get_filename_component(package ${package} NAME)
      string(APPEND all "${package} and others of this text:\n\n${text}\n\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT "@all@" @ONLY)
endfunction()
