# `cmake --install`: the libraries for applications, with their headers and protos, for
# find_package(ShardManager); and the programs, with their systemd units.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What the four libraries that users link consist of. One that is missing is named by CMake.
set(sdk
  sm_base sm_routing sm_model sm_proto sm_grpc sm_runtime
  sm_coordination sm_coordination_memory sm_coordination_zookeeper
  sm_wire_base sm_wire_channels sm_wire_discovery
  sm_discovery_core sm_discovery
  sm_server_core sm_server_engine sm_server
  sm_router_core sm_router
  sm_transfer_core sm_transfer
  sm_testing)
foreach(name server router transfer testing)
  set_target_properties(sm_${name} PROPERTIES EXPORT_NAME ${name})
endforeach()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/ShardManager")
install(TARGETS ${sdk} EXPORT ShardManagerTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}/shardmanager"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT ShardManagerTargets NAMESPACE ShardManager:: DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/ShardManagerConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/ShardManagerConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ShardManagerConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)  # until 1.0, minor versions may change interfaces
install(FILES
  "${PROJECT_BINARY_DIR}/ShardManagerConfig.cmake"
  "${PROJECT_BINARY_DIR}/ShardManagerConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindZooKeeper.cmake"
  DESTINATION "${package_dir}")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/shardmanager" "${PROJECT_SOURCE_DIR}/proto/shardmanager"
                  "${PROJECT_BINARY_DIR}/generated/shardmanager"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h" PATTERN "*.proto")

if(SM_BUILD_PROGRAMS)
  install(TARGETS shardmanagerd shard-discoveryd shardctl)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/deploy/" DESTINATION "${CMAKE_INSTALL_DATADIR}/shardmanager")
endif()
