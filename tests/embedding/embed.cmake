# Installs the build in BUILD below WORK, builds the application in app/ with find_package() and runs
# it; then configures it with the sources of SOURCE below it, on a machine that lacks the packages
# which only programs, examples and tests need.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${result}\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

set(app "${SOURCE}/tests/embedding/app")
file(REMOVE_RECURSE "${WORK}")

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/installed")
foreach(file bin/shardctl bin/shardmanagerd bin/shard-discoveryd include/shardmanager/server.h
             include/shardmanager/v1/admin.proto share/shardmanager/systemd/shardmanagerd.service)
  if(NOT EXISTS "${WORK}/installed/${file}")
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
run("${WORK}/installed/bin/shardctl" version)

run("${CMAKE_COMMAND}" -S "${app}" -B "${WORK}/found" -G Ninja "-DCMAKE_PREFIX_PATH=${WORK}/installed"
    -DCMAKE_BUILD_TYPE=Release)
run("${CMAKE_COMMAND}" --build "${WORK}/found")
run("${WORK}/found/out_of_tree")
message("${output}")

run("${CMAKE_COMMAND}" -S "${app}" -B "${WORK}/below" -G Ninja "-DSHARDMANAGER=${SOURCE}"
    -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON -DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_DISABLE_FIND_PACKAGE_yaml-cpp=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_prometheus-cpp=ON)
file(REMOVE_RECURSE "${WORK}")
