# What a project meets that uses this one. PART says which:
#  installed: installs the build in BUILD below WORK, looks at what is there, builds the application in
#     app/ with find_package() and runs it.
#  tutorial: installs the build, and does with it what docs/tutorial.md says.
#  below: configures a project with the sources of SOURCE below it, on machines that lack the packages
#     which the wanted libraries do not need.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${result}\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

# without(RESULT PACKAGE...): flags of cmake that make the packages absent.
function(without result)
  set(flags "")
  foreach(package ${ARGN})
    list(APPEND flags "-DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON")
  endforeach()
  set(${result} ${flags} PARENT_SCOPE)
endfunction()

function(expect_files folder)
  foreach(file ${ARGN})
    if(NOT EXISTS "${folder}/${file}")
      message(FATAL_ERROR "${file} is not installed")
    endif()
  endforeach()
endfunction()

# Each file of `folder` is a header of include/.
function(expect_public_headers_only folder)
  file(GLOB_RECURSE found RELATIVE "${folder}" "${folder}/*")
  file(GLOB_RECURSE public RELATIVE "${SOURCE}/include" "${SOURCE}/include/*.h")
  list(SORT found)
  list(SORT public)
  if(NOT found STREQUAL public)
    message(FATAL_ERROR "${folder} has ${found}, and not what ${SOURCE}/include has: ${public}")
  endif()
endfunction()

set(here "${SOURCE}/tests/packaging")
set(installed "${WORK}/installed")
set(found_flags -G Ninja "-DCMAKE_PREFIX_PATH=${installed}" -DCMAKE_BUILD_TYPE=None)
find_program(CCACHE ccache)
if(CCACHE)
  list(APPEND found_flags "-DCMAKE_CXX_COMPILER_LAUNCHER=${CCACHE}")
endif()
without(no_programs SQLite3 benchmark GTest yaml-cpp prometheus-cpp civetweb)
file(REMOVE_RECURSE "${WORK}")

function(check_installed)
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${installed}")
  expect_files("${installed}" bin/shardctl bin/shardmanagerd bin/shard-discoveryd
    share/shardmanager/proto/shardmanager/v1/admin.proto
    share/shardmanager/systemd/shardmanagerd.service)
  expect_public_headers_only("${installed}/include")
  run("${installed}/bin/shardctl" version)

  # Who only calls needs no ZooKeeper.
  without(no_zookeeper ZooKeeper)
  run("${CMAKE_COMMAND}" -S "${here}/app" -B "${WORK}/client" ${found_flags} -DPARTS=client
      ${no_zookeeper})

  run("${CMAKE_COMMAND}" -S "${here}/app" -B "${WORK}/app" ${found_flags} ${no_programs})
  run("${CMAKE_COMMAND}" --build "${WORK}/app")
  run("${WORK}/app/kit_test")
  run(/usr/bin/python3 -B "${here}/rate_limiter.py"
      "${installed}/bin" "${WORK}/app" "${here}/app" "${WORK}/cell")
  message("${output}")
endfunction()

# above(NAME ARGUMENTS...): the project above/ with the sources below it, in WORK/NAME.
function(above name)
  run("${CMAKE_COMMAND}" -S "${here}/above" -B "${WORK}/${name}" -G Ninja "-DSHARDMANAGER=${SOURCE}" ${ARGN})
endfunction()

function(check_below)
  above(libraries ${no_programs} "-DLINKED=server;router;transfer;testing;protos")
  without(no_zookeeper ZooKeeper)
  above(router ${no_programs} ${no_zookeeper} -DSM_COMPONENTS=router -DLINKED=router)
  above(server ${no_programs} -DSM_COMPONENTS=server -DLINKED=server)
  above(everything -DSM_BUILD_PROGRAMS=ON -DLINKED=router)
endfunction()

function(check_tutorial)
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${installed}")
  run(/usr/bin/python3 -B "${here}/tutorial.py" "${SOURCE}/docs/tutorial.md" "${installed}" "${WORK}/tutorial")
  message("${output}")
endfunction()

cmake_language(CALL check_${PART})
file(REMOVE_RECURSE "${WORK}")
