# Compiler flags, warnings, the linker and the cache are this project's own affair: below another
# project, that one's hold. Each library asks for C++20 by itself.
add_library(sm_warnings INTERFACE)
set(SM_TEST_SLOWDOWN 1)  # of time-outs
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# "Dev": assertions on, fast to compile, fast enough to test with. Tests can switch on the defects
# of src/base/defect.h.
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1 -DSM_DEFECTS" CACHE STRING "" FORCE)
set(CMAKE_C_FLAGS_DEV "-O1 -g1" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "" FORCE)

add_compile_options(-pthread)  # for all alike: some libraries ask for it, and precompiled headers differ by it

target_compile_options(sm_warnings INTERFACE -Wall -Wextra -Werror -Wnon-virtual-dtor
                                             -Woverloaded-virtual -Wno-missing-field-initializers)
# GCC 12 warns of overlapping copies inside its own std::string at -O2 (its bug 105651).
target_compile_options(sm_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# Clang 14 does not see the use of a captured `this` inside a nested generic lambda.
target_compile_options(sm_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-unused-lambda-capture>)

if(SM_SANITIZE)
  add_compile_options(-fsanitize=${SM_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SM_SANITIZE})
  set(SM_TEST_SLOWDOWN 5)
  set(SM_TEST_ENVIRONMENT
      "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan-suppressions.txt"
      "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1")
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE}")
endif()
