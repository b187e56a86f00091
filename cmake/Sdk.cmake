# The libraries for applications, as users name them: ShardManager::server, ::router, ::transfer,
# ::testing and ::protos.

# Which of them are built and installed. Only their packages are looked for: `router` needs no ZooKeeper.
# `transfer` and `testing` stand on `server`. Programs, examples and tests need all.
# Example: -DSM_COMPONENTS=router, or in a project above this one set(SM_COMPONENTS server router).
set(SM_COMPONENTS "server;router;transfer;testing" CACHE STRING
    "Libraries for applications: server, router, transfer, testing")

set(SM_SDK "")  # what is built, in the order of what stands on what
if(SM_BUILD_PROGRAMS OR SM_BUILD_EXAMPLES OR SM_BUILD_TESTS)
  if(NOT SM_BUILD_PROGRAMS OR (SM_BUILD_TESTS AND NOT SM_BUILD_EXAMPLES))
    message(FATAL_ERROR "SM_BUILD_EXAMPLES needs SM_BUILD_PROGRAMS, and SM_BUILD_TESTS both")
  endif()
  set(SM_SDK server router transfer testing)
else()
  foreach(component ${SM_COMPONENTS})
    if(NOT component MATCHES "^(server|router|transfer|testing)$")
      message(FATAL_ERROR "SM_COMPONENTS: found \"${component}\"; allowed: server, router, transfer, testing")
    endif()
    if(component MATCHES "^(transfer|testing)$")
      list(APPEND SM_SDK server)
    endif()
    list(APPEND SM_SDK ${component})
  endforeach()
  list(REMOVE_DUPLICATES SM_SDK)
endif()

# What public headers include.
set(SM_PUBLIC_DEPS gRPC::grpc++ absl::function_ref absl::hash absl::status absl::statusor)

# sm_sdk_library(NAME [DEPS ...]): ShardManager::NAME, a face on sm_NAME. Who links it gets the headers of
# include/ and the packages that they need; sm_NAME and all below it is linked, and none of their headers is seen.
function(sm_sdk_library name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  add_library(sm_sdk_${name} INTERFACE)
  add_library(ShardManager::${name} ALIAS sm_sdk_${name})
  target_include_directories(sm_sdk_${name} INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
  target_compile_features(sm_sdk_${name} INTERFACE cxx_std_20)
  target_link_libraries(sm_sdk_${name} INTERFACE $<LINK_ONLY:sm_${name}> ${ARG_DEPS} ${SM_PUBLIC_DEPS})
  set_target_properties(sm_sdk_${name} PROPERTIES EXPORT_NAME ${name} SM_HEADER_GROUPS "protobuf;grpc")
endfunction()
