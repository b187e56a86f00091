// The rules of the house, as data. Change the house by changing a row here, with a
// decision record (docs/decisions) that says why.
#pragma once

#include <array>
#include <string_view>

namespace shardmanager::architecture {

// ---- Layers. A file may include its own unit and units of a lower rank; units of
// ---- one rank are siblings and never include each other.
struct Layer {
  std::string_view unit;  // a path prefix; the longest one that fits counts
  int rank;
};
inline constexpr std::array kLayers = {
    Layer{"include/shardmanager/version.h", 0},
    Layer{"include/shardmanager/types.h", 0},
    Layer{"include/shardmanager/stub_inl.h", 0},
    Layer{"include/shardmanager/observe.h", 4},
    Layer{"include/shardmanager/slot_index_inl.h", 4},
    Layer{"include/shardmanager/shard_table.h", 5},
    Layer{"include/shardmanager/routing.h", 5},
    Layer{"src/routing", 5},
    Layer{"src/base", 10},
    Layer{"src/model", 20},
    Layer{"src/allocator", 30},
    Layer{"src/security", 45},
    // Core files (below) of the other folders: rank kCoreRank.
    Layer{"src/runtime", 50},
    Layer{"src/coordination", 60},
    Layer{"src/history", 60},
    Layer{"src/coordination/memory", 61},
    Layer{"src/coordination/zookeeper", 61},
    Layer{"src/taskcontroller", 65},
    Layer{"src/orchestrator", 70},
    Layer{"src/discovery", 70},
    Layer{"src/whatif", 75},
    Layer{"src/wire", 80},
    Layer{"src/console", 80},
    Layer{"include/shardmanager/server.h", 90},
    Layer{"include/shardmanager/callback_inl.h", 90},
    Layer{"include/shardmanager/late_inl.h", 90},
    Layer{"include/shardmanager/onward_inl.h", 90},
    Layer{"src/server", 90},
    Layer{"include/shardmanager/router.h", 90},
    Layer{"include/shardmanager/router_inl.h", 90},
    Layer{"src/router", 90},
    Layer{"include/shardmanager/transfer.h", 95},
    Layer{"src/transfer", 95},
    Layer{"include/shardmanager/testing.h", 100},
    Layer{"src/testing", 100},
    Layer{"src/daemon", 100},
    Layer{"src/cli", 100},
};
// Core files: the sources of the targets named sm_*_core, and the headers of their
// folder that these include.
inline constexpr int kCoreRank = 40;

// ---- Layers inside a unit: each folder may include itself and the folders listed before it.
struct Floors {
  std::string_view unit;
  std::array<std::string_view, 6> from_the_bottom;
};
inline constexpr std::array kFloors = {
    Floors{"src/orchestrator", {"state", "decide", "describe", "core", "shell", "control"}},
    Floors{"src/taskcontroller", {"selection", "state", "decide", "describe", "core", "shell"}},
};

// Public headers that belong to a unit.
struct PublicHeader {
  std::string_view header;
  std::string_view unit;
};
inline constexpr std::array kPublicHeaders = {
    PublicHeader{"include/shardmanager/routing.h", "src/routing"},
    PublicHeader{"include/shardmanager/server.h", "src/server"},
    PublicHeader{"include/shardmanager/callback_inl.h", "src/server"},
    PublicHeader{"include/shardmanager/late_inl.h", "src/server"},
    PublicHeader{"include/shardmanager/onward_inl.h", "src/server"},
    PublicHeader{"include/shardmanager/router.h", "src/router"},
    PublicHeader{"include/shardmanager/router_inl.h", "src/router"},
    PublicHeader{"include/shardmanager/transfer.h", "src/transfer"},
    PublicHeader{"include/shardmanager/testing.h", "src/testing"},
};

// ---- What users write, or copy: public headers only. (The other examples start whole
// ---- clusters, for which they look inside.)
inline constexpr std::array<std::string_view, 3> kUserCode = {"include", "examples/counter",
                                                              "examples/kvstore"};

// ---- Folders whose every file is held to the rules for cores.
inline constexpr std::array<std::string_view, 4> kPureFolders = {"src/base", "src/routing",
                                                                 "src/model", "src/allocator"};

// ---- What a core target, and base, model and allocator, may link. Also "absl::...".
inline constexpr std::array<std::string_view, 6> kPureDeps = {
    "sm_base", "sm_routing", "sm_model", "sm_proto", "sm_allocator_core", "PkgConfig::SM_XXHASH"};

// ---- Headers of others, and from which rank or where they may be included.
struct Foreign {
  std::string_view prefix;
  int lowest_rank;        // this rank and above; kNowhere: only `also`
  std::string_view also;  // a path prefix that may in any case
  std::string_view reason;
};
inline constexpr int kNowhere = 1'000;
inline constexpr std::array kForeign = {
    Foreign{"grpc", 80, "", "gRPC begins at src/wire"},
    Foreign{"zookeeper/", kNowhere, "src/coordination/zookeeper",
            "everybody else speaks coordination/store.h"},
    Foreign{"civetweb.h", kNowhere, "src/runtime/http_server.cc", "use runtime/http_server.h"},
    Foreign{"zlib.h", kNowhere, "src/runtime/http_server.cc", "use runtime/http_server.h"},
    Foreign{"prometheus/", kNowhere, "src/runtime/metrics.cc", "use runtime/metrics.h"},
    Foreign{"spdlog/", 50, "", "cores return reasons; shells log them"},
    Foreign{"CLI/", 100, "src/security/flags.h", "programs parse flags; components get options"},
    Foreign{"yaml-cpp/", 100, "", "YAML is for people: it ends at the command line"},
    Foreign{"sqlite3.h", kNowhere, "src/history/database",
            "storage belongs to applications; what is kept of the past, to history/history.h"},
    Foreign{"zstd.h", kNowhere, "src/coordination", "use coordination/envelope.h"},
};

// ---- Calls that a core must not make, and what to do instead.
struct Banned {
  std::string_view pattern;  // ECMAScript, matched against code without comments and strings
  std::string_view instead;
  std::string_view example;  // a line that the pattern must find
};
inline constexpr std::array kBannedInCores = {
    Banned{R"(\babsl::Now\b)", "the `now` that the event came with", "auto t = absl::Now();"},
    Banned{R"(\b(steady|system|high_resolution|utc)_clock\b)", "the `now` that the event came with",
           "auto t = std::chrono::steady_clock::now();"},
    Banned{R"(\b(clock_gettime|gettimeofday|localtime|gmtime)\b)",
           "the `now` that the event came with", "clock_gettime(CLOCK_REALTIME, &t);"},
    Banned{R"((\bstd::|[^\w.>:]|^)time\s*\(\s*(NULL|nullptr|0|&))",
           "the `now` that the event came with", "time(nullptr);"},
    Banned{R"(\bMonotonicNow\b|\bWallMilliseconds\b)", "the `now` that the event came with",
           "TimePoint t = MonotonicNow();"},
    Banned{R"((\bstd::|[^\w.>:]|^)s?rand\s*\()", "base/random.h, seeded by an event",
           "int r = rand() % 6;"},
    Banned{R"(\bstd::(random_device|mt19937(_64)?|default_random_engine)\b)",
           "base/random.h, seeded by an event", "std::mt19937 generator;"},
    Banned{R"(\babsl::(BitGen|InsecureBitGen|Uniform)\b)", "base/random.h, seeded by an event",
           "absl::BitGen generator;"},
    Banned{R"(\bstd::(thread|jthread|async|future|promise)\b)",
           "an action; the driver has the threads", "std::thread t([] {});"},
    Banned{
        R"(\bstd::(mutex|shared_mutex|recursive_mutex|condition_variable|lock_guard|unique_lock|scoped_lock)\b)",
        "nothing: a driver never calls a core from two threads", "std::lock_guard l(m);"},
    Banned{R"(\babsl::(Mutex|MutexLock|CondVar|Notification)\b)",
           "nothing: a driver never calls a core from two threads", "absl::MutexLock l(&m);"},
    Banned{R"(\bspdlog\b)", "a reason in the output; the shell logs it", "spdlog::info(x);"},
    Banned{R"(\bstd::(cout|cerr|clog)\b)", "a reason in the output; the shell logs it",
           "std::cerr << 1;"},
    Banned{R"((\bstd::|[^\w.>:]|^)f?printf\s*\()", "a reason in the output; the shell logs it",
           "std::printf(text);"},
    Banned{R"(\bgrpc::)", "an action or an event; src/wire speaks gRPC", "grpc::Status status;"},
    Banned{R"(\b(zoo_|zookeeper_)\w+\s*\()",
           "an action or an event; src/coordination has the store", "zoo_get(handle);"},
    Banned{R"(\bCoordinationStore\b)", "an action; the driver writes and reports",
           "CoordinationStore& store;"},
    Banned{R"(\bgetenv\b)", "an option in the constructor", "if (std::getenv(name)) return;"},
    Banned{R"(\b(u|nano)?sleep\s*\()", "Output::next_wake", "usleep(10);"},
    Banned{R"(\bstd::(i|o)?fstream\b|\bstd::filesystem\b|\bfopen\b)", "an action or an event",
           "std::ifstream in(path);"},
    Banned{R"(\bstd::(map|set)\s*<\s*(const\s+)?[\w:]+\s*\*)",
           "an id as the key: addresses order differently on every run",
           "std::map<Shard*, int> by_address;"},
};
// Exceptions to the banned calls.
struct Exempt {
  std::string_view path;
  std::string_view found;  // what the pattern matches there
  std::string_view why;
};
inline constexpr std::array kExempt = {
    Exempt{"src/base/check.h", "std::fprintf(", "the last words of a process that aborts"},
    Exempt{"src/wire/transport.cc", "InsecureChannelCredentials", "the one place"},
    Exempt{"src/wire/transport.cc", "InsecureServerCredentials", "the one place"},
    Exempt{"src/cli/yaml/yaml_events.cc", "throw",
           "how yaml-cpp's parser is stopped; caught there"},
};
// Nowhere in src/ or user code. (The other examples drive whole clusters of processes,
// some of which have no event to wait for.)
inline constexpr std::array kBannedEverywhere = {
    Banned{R"(\bsleep_(for|until)\b)", "wait for the event, or SerialExecutor::PostAt",
           "std::this_thread::sleep_for(1s);"},
    Banned{R"(\b(u|nano)sleep\s*\(|(^|[^\w.>:])sleep\s*\()",
           "wait for the event, or SerialExecutor::PostAt", "sleep(1);"},
    Banned{R"(\bstd::random_device\b)", "base/random.h with a seed that can be logged",
           "std::random_device seed;"},
    Banned{R"(\bthrow\b)", "absl::Status", "throw 1;"},
    Banned{R"(\bInsecure(Channel|Server)Credentials\b)", "wire/transport.h",
           "auto c = grpc::InsecureChannelCredentials();"},
};

// ---- Words that the glossary (docs/glossary.md) rules out, with what to say instead.
// Whole words, also inside CamelCase and snake_case. Words with a second, honest
// meaning in this code ("node" of the coordination store, "leader" of the control
// plane, "target" of a move) cannot be checked by a machine and are not here.
struct NeverWord {
  std::string_view word;
  std::string_view instead;
};
inline constexpr std::array kNeverWords = {
    NeverWord{"tenant", "app"},
    NeverWord{"tablet", "shard"},
    NeverWord{"slice", "shard"},
    NeverWord{"instance", "replica, or server"},
    NeverWord{"peer", "replica"},
    NeverWord{"master", "primary, or leader"},
    NeverWord{"slave", "secondary"},
    NeverWord{"worker", "server"},
    NeverWord{"relocation", "migration"},
    NeverWord{"evacuate", "drain"},
    NeverWord{"locality", "fault domain"},
    NeverWord{"generation", "incarnation"},
};
struct AllowedWord {
  std::string_view path;  // a prefix
  std::string_view word;
  std::string_view why;
};
inline constexpr std::array kAllowedWords = {
    AllowedWord{"include/shardmanager/types.h", "peer", "Peer: a server and where it is"},
    AllowedWord{"include/shardmanager/server.h", "peer", "Peer: a server and where it is"},
    AllowedWord{"examples/kvstore/replicated_shard", "peer", "Peer: a server and where it is"},
    AllowedWord{"src/", "peer", "Peer (types.h), and ZooKeeper's QuorumPeerMain"},
    AllowedWord{"src/wire/discovery_service.cc", "slice", "grpc::Slice"},
    AllowedWord{"src/wire/place_for", "slice", "a slice of time"},
    AllowedWord{"src/allocator/roadef/", "instance", "the challenge's word for a problem"},
    AllowedWord{"src/cli/commands/place.cc", "instance", "the challenge's word for a problem"},
};

// ---- Sizes (size_rules.h), in src, include, examples, tests and bench.
inline constexpr int kMostMethodsPerClass = 30;
inline constexpr int kMostFieldsPerClass = 30;
inline constexpr int kMostLinesPerFunction = 60;
inline constexpr int kMostCodeLinesPerFile = 500;
inline constexpr int kMostModulesPerFolder = 20;

// Code over the limits. The size in a row may only be lowered; delete the row when the code fits.
struct Large {
  std::string_view name;  // of a folder or file; of a class or function: "file name"
  std::string_view measure;
  int size;
};
inline constexpr std::array kLarge = {
    Large{"examples/kvstore/local_shard.h LocalShard", "fields", 32},
    Large{"tests/local_cluster/cluster.h Cluster", "methods", 44},
    Large{"src/allocator/solver/state.h State", "methods", 34},
    Large{"src/coordination/memory/memory_ensemble.h MemoryEnsemble", "methods", 51},
    Large{"tests/integration/chaos/faults.h Faults", "methods", 54},
    Large{"tests/orchestrator/world.h World", "methods", 43},
    Large{"tests/server/shard_book_fixture.h ShardBookTest", "methods", 39},
    Large{"tests/simulation/checkers.h Checkers", "methods", 48},
    Large{"tests/simulation/cell/cluster.h Cluster", "methods", 31},
    Large{"tests/simulation/cell/sim_server.h SimServer", "methods", 32},
    Large{"tests/transfer/transfer_world.h TransferWorld", "methods", 37},
};

}  // namespace shardmanager::architecture
