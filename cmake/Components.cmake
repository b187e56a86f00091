# The functions of this project's own CMakeLists.txt. They are not for users: docs/compatibility.md.
#
# Every target begins with sm_, so that none can meet one of a project above this one. Programs and
# tests are given without it: sm_test(spec_test) makes the target sm_spec_test and the file spec_test.
# (Ninja builds both names.)

# sm_library(NAME SOURCES a.cc ... DEPS x y ...): one component. `DEPS` is the
# whole truth about what it may include; tests/architecture checks it.
function(sm_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  # Who finds this installed has the public headers alone: see Install.cmake.
  set(includes "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>" "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    target_include_directories(${name} PUBLIC ${includes})
    target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE $<BUILD_INTERFACE:sm_warnings>)
    target_compile_features(${name} PUBLIC cxx_std_20)  # for who links it: its headers need it
    sm_compile_together(${name})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${includes})
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
  endif()
  sm_precompile(${name} "${ARG_DEPS}" "")
endfunction()

# sm_grpc_library(NAME file.proto): messages and stubs of an example's or a test's proto in this folder,
# included as "<file>.grpc.pb.h" or by its whole path.
function(sm_grpc_library name proto)
  get_filename_component(stem "${proto}" NAME_WE)
  file(RELATIVE_PATH here "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  set(out "${CMAKE_CURRENT_BINARY_DIR}/generated/${here}")
  file(MAKE_DIRECTORY "${out}")
  set(files "${out}/${stem}.pb.cc" "${out}/${stem}.grpc.pb.cc" "${out}/${stem}.pb.h"
            "${out}/${stem}.grpc.pb.h")
  add_custom_command(
    OUTPUT ${files}
    COMMAND protobuf::protoc --cpp_out=${out} --grpc_out=${out}
            --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>
            -I ${CMAKE_CURRENT_SOURCE_DIR} ${proto}
    DEPENDS ${proto})
  add_library(${name} STATIC ${files})
  target_include_directories(${name} SYSTEM PUBLIC
    "${CMAKE_CURRENT_BINARY_DIR}/generated" "${out}")
  target_link_libraries(${name} PUBLIC gRPC::grpc++ protobuf::libprotobuf)
  set_target_properties(${name} PROPERTIES SM_HEADER_GROUPS "protobuf;grpc")
endfunction()

# The target sm_NAME, whose file is FOLDER/NAME. `more`: as for sm_precompile().
function(sm_executable name folder deps more)
  add_executable(sm_${name} ${ARGN})
  set_target_properties(sm_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}")
  target_link_libraries(sm_${name} PRIVATE ${deps} sm_warnings)
  target_compile_features(sm_${name} PRIVATE cxx_std_20)
  sm_precompile(sm_${name} "${deps}" "${more}")
endfunction()

# sm_binary(NAME SOURCES ... DEPS ...): a program in build/<preset>/bin.
function(sm_binary name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  sm_executable(${name} bin "${ARG_DEPS}" "" ${ARG_SOURCES})
endfunction()

# sm_test(NAME SOURCES ... DEPS ... [TIMEOUT seconds] [PROGRAMS names...]): a
# GoogleTest binary, one ctest entry. PROGRAMS are binaries that it starts; their
# folder is passed in SM_BIN_DIR.
function(sm_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;PROGRAMS" ${ARGN})
  sm_executable(${name} tests/bin "${ARG_DEPS}" "_gmock" ${ARG_SOURCES})
  target_include_directories(sm_${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(sm_${name} PRIVATE GTest::gmock GTest::gtest_main)
  foreach(program ${ARG_PROGRAMS})
    add_dependencies(sm_${name} sm_${program})
  endforeach()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  set(environment "SM_BIN_DIR=${PROJECT_BINARY_DIR}/bin" "SM_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
                  ${SM_TEST_ENVIRONMENT})
  math(EXPR timeout "${ARG_TIMEOUT} * ${SM_TEST_SLOWDOWN}")
  add_test(NAME ${name} COMMAND sm_${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} ENVIRONMENT "${environment}")
endfunction()

# sm_bench(NAME SOURCES ... DEPS ...): a program that `scripts/bench` runs.
function(sm_bench name)
  sm_binary(${ARGV})
endfunction()
