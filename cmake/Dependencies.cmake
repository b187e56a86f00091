# All from Debian bookworm; scripts/install-deps names the packages.

# Of the libraries: ShardManagerConfig.cmake.in asks users for the same.
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(spdlog REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
find_package(ZooKeeper REQUIRED)

if(SM_BUILD_PROGRAMS)
  find_package(yaml-cpp REQUIRED)
  find_package(prometheus-cpp CONFIG REQUIRED)
endif()
if(SM_BUILD_EXAMPLES)
  find_package(SQLite3 REQUIRED)
  find_package(benchmark REQUIRED)
endif()
if(SM_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
