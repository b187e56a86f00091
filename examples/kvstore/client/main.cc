// kv: tries a kvstore app out by hand.
#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client.h"
#include "load.h"
#include "shardmanager/observe.h"
#include "shardmanager/router.h"
#include "words.h"

namespace kvstore {
namespace {

constexpr char kFooter[] = R"(
Examples:
  kv put apple red                     store a value; says which server and shard have it
  kv get apple                         print it
  kv delete apple
  kv scan a c                          all rows with keys from "a" to before "c"
  kv load --seconds 30 --rate 2000     puts and gets, checked, with a summary
  kv --discovery sm-1:7401,sm-2:7401 --app shop get apple
Exit codes:
  0  done
  1  a call failed; of `load`: at least one, or a value was lost
  2  wrong command line or bad key; no call was made
  3  no answer in time, from discovery or from the shard's server
  4  no such key, app or shard
Environment:
  KV_DISCOVERY  where discovery answers, instead of --discovery
  SM_CERTS      the folder with certificates, instead of --certs)";

constexpr char kLoadFooter[] = R"(
Each client has keys of its own, puts numbers that grow, and checks what it gets: a value that was
acknowledged and is not found counts as lost. Calls are due at fixed times, and latencies count from
then, so a server that is away for a while shows in them. A line for each second goes to stderr, the
summary to the standard output.
Examples:
  kv load                                          10 s, 500 calls a second
  kv load --seconds 60 --rate 2000 --clients 32    while you kill a server, say
  kv load --rate 0 --gets 0 --value-bytes 10000    as many large puts as go
Exit codes: 0: all calls succeeded; 1: some failed, or values were lost)";

struct Words {
  shardmanager::RouterOptions router = {.discovery = {"127.0.0.1:7400"}};
  std::string app = "kv";
  int timeout_ms = 5'000;
  bool hex = false;
  bool verbose = false;
  std::string key, value, start, end;
  int limit = 100;
  LoadOptions load;
};

// Without --verbose: errors say what is to be said.
class NoLog final : public shardmanager::Logger {
  void Log(shardmanager::LogLevel, std::string_view) override {}
  bool ShouldLog(shardmanager::LogLevel) const override { return false; }
};

Load* g_load = nullptr;
void StopLoad(int) {
  if (g_load != nullptr) g_load->Stop();
}

// A failed command: says so.
int Complain(const Words& words, std::string_view doing, const absl::Status& status) {
  std::cerr << "kv: " << doing << ": " << absl::StatusCodeToString(status.code()) << ": "
            << status.message() << "\n";
  const std::string hint = Hint(status, words.app, absl::StrJoin(words.router.discovery, ","));
  if (!hint.empty()) std::cerr << hint << "\n";
  return ExitCodeOf(status);
}

std::string By(const kv::ServedBy& by) {
  return absl::StrCat("server ", by.server(), ", shard ", by.shard(), ", epoch ", by.epoch());
}

// For a terminal: one line, whatever bytes there are.
std::string Shown(const Words& words, const std::string& key) {
  return words.hex ? absl::BytesToHexString(key) : absl::CHexEscape(key);
}

int Put(Client& client, const Words& words) {
  std::string value = words.value;
  if (value == "-") value.assign(std::istreambuf_iterator<char>(std::cin), {});
  const auto answer = client.Put(words.key, value);
  if (!answer.ok()) {
    return Complain(words, absl::StrCat("put ", Shown(words, words.key)), answer.status());
  }
  std::cout << "stored by " << By(answer->served_by()) << "\n";
  return kDone;
}

int Get(Client& client, const Words& words) {
  const auto answer = client.Get(words.key);
  if (!answer.ok()) {
    return Complain(words, absl::StrCat("get ", Shown(words, words.key)), answer.status());
  }
  if (words.verbose) std::cerr << "answered by " << By(answer->served_by()) << "\n";
  if (!answer->found()) {
    std::cerr << "kv: there is no key " << Shown(words, words.key) << " in app " << words.app
              << " (" << By(answer->served_by()) << ")\n";
    return kNotFound;
  }
  std::cout << answer->value() << "\n";
  return kDone;
}

int Delete(Client& client, const Words& words) {
  const auto answer = client.Delete(words.key);
  if (!answer.ok()) {
    return Complain(words, absl::StrCat("delete ", Shown(words, words.key)), answer.status());
  }
  std::cout << (answer->found() ? "deleted by " : "was not there: ") << By(answer->served_by())
            << "\n";
  return kDone;
}

int Scan(Client& client, const Words& words) {
  int rows = 0;
  bool more = false;
  const absl::Status status = client.Scan(words.start, words.end, [&](const kv::Row& row) {
    more = rows == words.limit;
    if (more) return false;
    std::cout << Shown(words, row.key()) << "\t" << Shown(words, row.value()) << "\n";
    ++rows;
    return true;
  });
  if (!status.ok()) return Complain(words, absl::StrCat("scan, after ", rows, " rows"), status);
  std::cerr << rows << (rows == 1 ? " row" : " rows") << (more ? "; there are more (--limit)" : "")
            << "\n";
  return kDone;
}

int DoLoad(Client& client, const Words& words) {
  const auto shards = client.Shards();
  if (!shards.ok()) return Complain(words, "load", shards.status());
  auto keys = LoadKeys(*shards, words.load);
  if (!keys.ok()) return Complain(words, "load", keys.status());
  std::cerr << keys->size() << " keys in an app of " << shards->size() << " shards, for "
            << words.load.seconds << " s\n";
  Load load(client, *std::move(keys), words.load);
  g_load = &load;
  std::signal(SIGINT, StopLoad);
  std::signal(SIGTERM, StopLoad);
  uint64_t before = 0;
  for (int second = 1; !load.WaitFor(std::chrono::seconds(1)); ++second) {
    const uint64_t calls = load.calls();
    std::cerr << second << " s: " << calls - before << " calls, " << load.failed()
              << " failed so far, longest " << load.TakeLongest().count() / 1000 << " ms\n";
    before = calls;
  }
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  g_load = nullptr;
  const LoadReport report = load.Report();
  std::cout << ReportText(report);
  return report.good() ? kDone : kFailed;
}

// ---- the command line ----

void AddConnection(CLI::App& cli, Words& words) {
  cli.add_option("--app", words.app, "The app")->capture_default_str();
  cli.add_option("--discovery", words.router.discovery,
                 "shardmanagerds or shard-discoveryds, which have the shard map")
      ->envname("KV_DISCOVERY")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Validator([](const std::string& word) { return EndpointError(word); }, ""))
      ->type_name("HOST:PORT[,...]")
      ->capture_default_str();
  cli.add_option("--cell", words.router.cell, "Shard maps of other cells are refused. Default: any")
      ->type_name("NAME");
  cli.add_option("--certs", words.router.security.certs,
                 "Folder with ca.pem, cert.pem and key.pem (shardctl certs). Default: $SM_CERTS, "
                 "else ~/.shardmanager/certs")
      ->type_name("FOLDER");
  cli.add_flag("--insecure", words.router.security.insecure, "No TLS");
  cli.add_option("--timeout-ms", words.timeout_ms, "For each call, with all its attempts")
      ->check(CLI::Range(1, 3'600'000))
      ->capture_default_str();
  cli.add_flag("--hex", words.hex, "Keys are written in hexadecimal, as in 75f0");
  cli.add_flag("-v,--verbose", words.verbose, "Say who answered, and what the router logs");
}

void AddLoad(CLI::App& cli, LoadOptions& load) {
  CLI::App* command = cli.add_subcommand("load", "Put and get for some seconds, and check");
  command->footer(kLoadFooter);
  command->add_option("--seconds", load.seconds, "How long; Ctrl-C ends it earlier")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  command
      ->add_option("--rate", load.calls_per_s,
                   "Calls a second, of all clients; 0: as many as there is time for")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_option("--clients", load.clients, "Calls at the same time")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  command->add_option("--keys", load.keys, "Keys, the same number in each shard")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--gets", load.gets_percent, "Gets among the calls, in percent")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  command->add_option("--value-bytes", load.value_bytes, "Size of a value")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--name", load.name,
                   "Part of all keys; two loads at the same time need different ones")
      ->capture_default_str();
}

using Command = int (*)(Client& client, const Words& words);

// Which command is given, or how to end.
int Main(int argc, char** argv) {
  Words words;
  Command command = nullptr;
  CLI::App cli{"kv: put, get and scan keys of a kvstore app, and put it under load.", "kv"};
  cli.footer(kFooter);
  cli.require_subcommand(1);
  cli.fallthrough();  // flags for all commands may stand before or after the command
  AddConnection(cli, words);
  CLI::App* put = cli.add_subcommand("put", "Store a value");
  put->add_option("KEY", words.key)->required();
  put->add_option("VALUE", words.value, "-: the standard input")->required();
  CLI::App* get = cli.add_subcommand("get", "Print the value of a key");
  get->add_option("KEY", words.key)->required();
  CLI::App* erase = cli.add_subcommand("delete", "Delete a key; it need not be there");
  erase->add_option("KEY", words.key)->required();
  CLI::App* scan = cli.add_subcommand("scan", "Print rows, in key order if keys are not hashed");
  scan->add_option("START", words.start, "The first key. Default: the first of all");
  scan->add_option("END", words.end, "The key after the last one. Default: to the end");
  scan->add_option("--limit", words.limit, "Most rows")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  AddLoad(cli, words.load);
  put->callback([&] { command = Put; });
  get->callback([&] { command = Get; });
  erase->callback([&] { command = Delete; });
  scan->callback([&] { command = Scan; });
  cli.get_subcommand("load")->callback([&] { command = DoLoad; });
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? kDone : kUsage;
  }
  for (std::string* key : {&words.key, &words.start, &words.end}) {
    if (!words.hex) break;
    absl::StatusOr<std::string> bytes = FromHex(*key);
    if (!bytes.ok()) {
      std::cerr << "kv: " << bytes.status().message() << "\n";
      return kUsage;
    }
    *key = *std::move(bytes);
  }
  if (!words.verbose) shardmanager::SetLogger(std::make_shared<NoLog>());
  shardmanager::Router router(words.router);
  Client client(router, words.app, std::chrono::milliseconds(words.timeout_ms));
  return command(client, words);
}

}  // namespace
}  // namespace kvstore

int main(int argc, char** argv) { return kvstore::Main(argc, argv); }
