// Which version of the libraries these headers are of. What may change from one to the next, and
// how long what is deprecated stays: docs/compatibility.md.
//
// To build one source against several versions:
//   #include "shardmanager/version.h"
//   #if SHARDMANAGER_VERSION >= SHARDMANAGER_MAKE_VERSION(0, 2, 0)
//   ...
//   #endif
#pragma once

// The build reads these three lines, so that there is one place to change.
#define SHARDMANAGER_VERSION_MAJOR 0
#define SHARDMANAGER_VERSION_MINOR 1
#define SHARDMANAGER_VERSION_PATCH 0

// An integer that grows with each version; the minor version and the patch are below 1,000.
#define SHARDMANAGER_MAKE_VERSION(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define SHARDMANAGER_VERSION                                                        \
  SHARDMANAGER_MAKE_VERSION(SHARDMANAGER_VERSION_MAJOR, SHARDMANAGER_VERSION_MINOR, \
                            SHARDMANAGER_VERSION_PATCH)

// The same as text: "0.1.0".
#define SHARDMANAGER_TEXT_OF_(major, minor, patch) #major "." #minor "." #patch
#define SHARDMANAGER_TEXT_(major, minor, patch) SHARDMANAGER_TEXT_OF_(major, minor, patch)
#define SHARDMANAGER_VERSION_TEXT                                            \
  SHARDMANAGER_TEXT_(SHARDMANAGER_VERSION_MAJOR, SHARDMANAGER_VERSION_MINOR, \
                     SHARDMANAGER_VERSION_PATCH)
