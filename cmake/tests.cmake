# Every *_test.cc and *_test.py in the tree is found here and run by ctest; nothing has to be listed.

find_package(GTest REQUIRED)
include(GoogleTest)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(GLOB project_python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
set(TEST_PYTHON ${Python3_EXECUTABLE})
if(project_python)
  set(TEST_PYTHON ${project_python})
endif()

set(test_environment OMP_NUM_THREADS=2)
if(SAMPLENORM_SANITIZE)
  # libtorch keeps what it allocates at start-up.
  list(APPEND test_environment ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0)
endif()

# samplenorm_tests(NAME FOLDER LIBRARIES...): one program from all *_test.cc of a folder.
function(samplenorm_tests name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*_test.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/lib)
  target_link_libraries(${name} PRIVATE ${ARGN} GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES ENVIRONMENT "${test_environment}" TIMEOUT 600)
endfunction()

samplenorm_tests(core_test lib/core samplenorm_core)
samplenorm_tests(samplers_test lib/samplers samplenorm_samplers)
samplenorm_tests(kernels_test lib/kernels samplenorm_kernels)
samplenorm_tests(nn_test lib/nn samplenorm)
if(TARGET nn_test)
  target_precompile_headers(nn_test REUSE_FROM samplenorm)
endif()
if(SAMPLENORM_APP)
  find_package(JPEG REQUIRED)
  find_package(PNG REQUIRED)
  samplenorm_tests(app_data_test app/data samplenorm_app_data JPEG::JPEG PNG::PNG)
  samplenorm_tests(app_record_test app/record samplenorm_app_record)
  samplenorm_tests(app_train_test app/train samplenorm_app_train)
  samplenorm_tests(app_models_test app/models samplenorm_app_models)
  foreach(test app_models_test app_train_test)
    if(TARGET ${test})
      target_precompile_headers(${test} REUSE_FROM samplenorm)
    endif()
  endforeach()
  if(NOT SAMPLENORM_SANITIZE)
    samplenorm_tests(app_cli_test app/cli samplenorm_app_cli)
  endif()
  samplenorm_tests(bench_test bench samplenorm_bench)
endif()

# Python tests drive the library as it is loaded by torch.ops.load_library, or whole programs.
if(NOT SAMPLENORM_SANITIZE)
  file(GLOB_RECURSE python_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/*_test.py ${PROJECT_SOURCE_DIR}/app/*_test.py
       ${PROJECT_SOURCE_DIR}/bench/*_test.py
       ${PROJECT_SOURCE_DIR}/tests/*_test.py)
  foreach(test ${python_tests})
    get_filename_component(name ${test} NAME_WE)
    add_test(NAME python.${name} COMMAND ${TEST_PYTHON} -m pytest -q -p no:cacheprovider ${test})
    set_tests_properties(python.${name} PROPERTIES TIMEOUT 1800 ENVIRONMENT
      "${test_environment};SAMPLENORM_LIBRARY=$<TARGET_FILE:samplenorm>;SAMPLENORM_BUILD=${PROJECT_BINARY_DIR};SAMPLENORM_SOURCE=${PROJECT_SOURCE_DIR};SAMPLENORM_TORCH=${Torch_DIR};PYTHONDONTWRITEBYTECODE=1")
  endforeach()
endif()
