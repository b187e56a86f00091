# The headers of libraries that most files include are compiled once for each group of targets that
# use the same libraries. They are half of the time that a build from nothing takes
# (docs/decisions/0018-one-build-and-precompiled-headers.md). Only headers from outside the
# project: a change of a file here never compiles everything anew.
#
# A file still includes what it uses: the presets asan and tsan compile without this.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND PROJECT_IS_TOP_LEVEL)
  set(pch_default ON)
endif()
option(SM_PRECOMPILED_HEADERS "Compile the headers of libraries once (GCC only)" ${pch_default})

set(SM_HEADERS_base
  <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <deque> <functional> <future>
  <map> <memory> <mutex> <optional> <set> <sstream> <string> <string_view> <thread> <tuple>
  <unordered_map> <utility> <variant> <vector>
  <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/container/inlined_vector.h>
  <absl/status/status.h> <absl/status/statusor.h> <absl/strings/match.h>
  <absl/strings/numbers.h> <absl/strings/str_cat.h> <absl/strings/str_format.h>
  <absl/strings/str_join.h> <absl/strings/str_split.h>)
set(SM_HEADERS_protobuf
  <google/protobuf/arena.h> <google/protobuf/extension_set.h>
  <google/protobuf/generated_enum_reflection.h> <google/protobuf/generated_message_reflection.h>
  <google/protobuf/generated_message_util.h> <google/protobuf/map.h>
  <google/protobuf/map_entry.h> <google/protobuf/map_field_inl.h> <google/protobuf/message.h>
  <google/protobuf/repeated_field.h> <google/protobuf/unknown_field_set.h>)
set(SM_HEADERS_spdlog <spdlog/spdlog.h>)
set(SM_HEADERS_grpc <grpcpp/grpcpp.h>)
set(SM_HEADERS_gmock <gmock/gmock.h>)
# Each builds upon the one before.
set(SM_HEADER_GROUPS base protobuf spdlog grpc)
set(SM_LIBRARIES_protobuf protobuf::libprotobuf)
set(SM_LIBRARIES_spdlog spdlog::spdlog)
set(SM_LIBRARIES_grpc gRPC::grpc++)

# Which groups the libraries `deps` bring along, as a list.
function(sm_groups_of result deps)
  set(groups base)
  foreach(dep ${deps})
    if(dep MATCHES "^(protobuf::|gRPC::|spdlog::)")
      string(REGEX REPLACE "::.*" "" group "${dep}")
      string(TOLOWER "${group}" group)
      list(APPEND groups ${group})
    elseif(TARGET ${dep})
      get_target_property(more ${dep} SM_HEADER_GROUPS)
      if(more)
        list(APPEND groups ${more})
      endif()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES groups)
  set(${result} "${groups}" PARENT_SCOPE)
endfunction()

# The target whose precompiled headers are those of `group`, and of `more`, if it is not empty.
function(sm_header_target result group more)
  set(name sm_headers_${group}${more})
  set(${result} ${name} PARENT_SCOPE)
  if(TARGET ${name})
    return()
  endif()
  set(headers "")
  set(libraries sm_warnings)
  foreach(each ${SM_HEADER_GROUPS})
    list(APPEND headers ${SM_HEADERS_${each}})
    list(APPEND libraries ${SM_LIBRARIES_${each}})
    if(each STREQUAL group)
      break()
    endif()
  endforeach()
  if(more)
    list(APPEND headers ${SM_HEADERS_gmock})
    list(APPEND libraries GTest::gmock)
  endif()
  set(source "${PROJECT_BINARY_DIR}/headers/${name}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Only its precompiled headers are of use.\n")
  add_library(${name} OBJECT "${source}")
  target_link_libraries(${name} PRIVATE ${libraries})
  target_precompile_headers(${name} PRIVATE ${headers})
endfunction()

# Notes what `target` uses, and gives it the headers of the largest group that it has in full.
# `more`: "_gmock" or empty.
function(sm_precompile target deps more)
  sm_groups_of(groups "${deps}")
  set_target_properties(${target} PROPERTIES SM_HEADER_GROUPS "${groups}")
  get_target_property(type ${target} TYPE)
  if(NOT SM_PRECOMPILED_HEADERS OR type STREQUAL "INTERFACE_LIBRARY")
    return()
  endif()
  set(best base)
  foreach(group ${SM_HEADER_GROUPS})
    if(NOT group IN_LIST groups)
      break()
    endif()
    set(best ${group})
  endforeach()
  sm_header_target(owner ${best} "${more}")
  target_precompile_headers(${target} REUSE_FROM ${owner})
  target_compile_options(${target} PRIVATE -fpch-preprocess)  # for ccache
endfunction()

# Compiles the files of `library` eight at a time: most of what is left is templates that they share.
function(sm_compile_together library)
  if(NOT SM_PRECOMPILED_HEADERS)
    return()
  endif()
  set_target_properties(${library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  # A class may well have fields of its own file's anonymous namespace.
  target_compile_options(${library} PRIVATE -Wno-subobject-linkage)
endfunction()
