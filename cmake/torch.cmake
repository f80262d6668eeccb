# libtorch comes with the Python package torch. ./run puts it into .venv; any other place is named by CMAKE_PREFIX_PATH, or is
# where the Python is that builds a wheel.

if(SKBUILD)
  find_package(Python REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import torch; print(torch.utils.cmake_prefix_path)"
                  OUTPUT_VARIABLE torch_prefix OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(Torch_DIR ${torch_prefix}/Torch)
elseif(NOT Torch_DIR AND NOT CMAKE_PREFIX_PATH)
  file(GLOB torch_places ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch/share/cmake/Torch)
  if(torch_places)
    list(GET torch_places 0 Torch_DIR)
  endif()
endif()
set(CMAKE_MESSAGE_LOG_LEVEL ERROR)  # the wheel's configuration warns of a profiler library that the wheel does not have
find_package(Torch REQUIRED)
unset(CMAKE_MESSAGE_LOG_LEVEL)

# A target of our own, since Torch's include directories are not marked as a system's and would flood us with warnings.
add_library(samplenorm_torch INTERFACE)
target_include_directories(samplenorm_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(samplenorm_torch INTERFACE ${TORCH_LIBRARIES})
