# `cmake --install`: the libraries for applications, with their headers, for find_package(ShardManager);
# the protos; and the programs, with their systemd units.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What the libraries that users link consist of, each in one set: `common`, or the first of
# SM_SDK that needs it. One that is missing is named by CMake.
set(sm_set_common
  sm_base sm_routing sm_model sm_proto sm_grpc sm_runtime sm_security sm_coordination sm_wire_base sm_wire_channels)
set(sm_set_protos sm_sdk_protos)
set(sm_set_server
  sm_coordination_zookeeper sm_server_core sm_server_engine sm_server sm_sdk_server)
set(sm_set_router
  sm_discovery_core sm_discovery sm_wire_discovery sm_router_core sm_router sm_sdk_router)
set(sm_set_transfer sm_transfer_core sm_transfer sm_sdk_transfer)
set(sm_set_testing sm_coordination_memory sm_testing sm_sdk_testing)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/ShardManager")
foreach(component common protos ${SM_SDK})
  install(TARGETS ${sm_set_${component}} EXPORT ShardManager-${component}
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}/shardmanager"
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT ShardManager-${component} NAMESPACE ShardManager:: DESTINATION "${package_dir}")
endforeach()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/ShardManagerConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/ShardManagerConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ShardManagerConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)  # until 1.0, minor versions may change interfaces
install(FILES
  "${PROJECT_BINARY_DIR}/ShardManagerConfig.cmake"
  "${PROJECT_BINARY_DIR}/ShardManagerConfigVersion.cmake"
  DESTINATION "${package_dir}")
if("server" IN_LIST SM_SDK)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/FindZooKeeper.cmake" DESTINATION "${package_dir}")
endif()

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/shardmanager"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
# Not where the public headers are: no public header needs them. Who links ShardManager::protos sees them.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/proto/shardmanager"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/shardmanager/proto" FILES_MATCHING PATTERN "*.proto")
set(generated_dir "${CMAKE_INSTALL_LIBDIR}/shardmanager/include")
install(DIRECTORY "${PROJECT_BINARY_DIR}/generated/shardmanager"
  DESTINATION "${generated_dir}" FILES_MATCHING PATTERN "*.h")
target_include_directories(sm_sdk_protos INTERFACE "$<INSTALL_INTERFACE:${generated_dir}>")

if(SM_BUILD_PROGRAMS)
  install(TARGETS sm_shardmanagerd sm_shard-discoveryd sm_shardctl)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/deploy/" DESTINATION "${CMAKE_INSTALL_DATADIR}/shardmanager")
endif()
