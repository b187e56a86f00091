#!/usr/bin/env python3
"""tests/fuzz/make_seeds.py: writes the hand-made seeds of tests/fuzz/corpus.

Text where a target reads text; messages that protoc encodes from their text form; and for
the targets that read events, bytes of a seeded generator. Named `hand-*`; what the fuzzer
itself found worth keeping (`scripts/fuzz --merge`) has libFuzzer's names beside them. `found-*` are
inputs that once showed a fault, named for it. (The certificates of `certificate` are those that
`shardctl certs` made once.)
"""
import pathlib
import random
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/fuzz/corpus"

SPEC = """
name: "kv"
key_space {
  shards { id: "low" range { end: "m" } }
  shards { id: "high" range { start: "m" } preferred_region: "eu-west" }
}
replication { strategy: PRIMARY_ONLY replicas: 1 }
placement { regions: "eu-west" regions: "us-east" preferred_region: "us-east" spread: RACK }
failover { delay_ms: 5 max_concurrent: 3 on_partition: STOP_ALL }
moves { max_concurrent: 3 balance_interval_ms: 2000 }
"""
SPLIT = 'name: "kv" key_space { split_points: "b" split_points: "m" shard_prefix: "p" }'
PLACEMENT = """
problem {
  metrics: "cpu" metrics: "memory"
  servers { name: "a" region: "east" rack: "r1" capacity { metric: "cpu" amount: 8 } }
  servers { name: "b" region: "west" rack: "r2" capacity { metric: "cpu" amount: 8.5 } }
  servers { name: "c" region: "west" draining: true }
  shards { name: "s1" replicas: 2 load { metric: "cpu" amount: 1.5 } servers: "a" servers: "c" }
  shards { name: "s2" load { metric: "memory" amount: 3 } preferred_region: "west" pinned: true }
  %s
}
seed: 3
"""
RULES = """
  constraints { capacity { metric: "cpu" limit: 0.9 transient: true } }
  constraints { exclusion { scope: "rack" most: 1 } }
  constraints { move_limit { total: 3 per_server: 2 per_shard: 1 } }
  goals { spread { scope: "region" least: 2 } priority: 1 }
  goals { drain {} priority: 2 weight: 3 }
  goals { region_preference { replicas: 1 } priority: 3 }
  goals { balance { metric: "cpu" tolerance: 0.05 } priority: 4 }
  goals { utilization { metric: "cpu" scope: "region" threshold: 0.8 } priority: 5 }
"""
LANGUAGE = """
  shards { name: "s3" replicas: 2 most_per_server: 2 move_cost: 2.5 }
  no_goals: true
  constraints { company { scope: "rack" limits { shard: "s1" with: "s2" most: 1 } } }
  constraints { servers_in_use {} }
  constraints { exclusion {} }
"""
PLACEMENT_YAML = """metrics: [cpu, memory]
servers:
- {name: a, region: east, rack: r1, capacity: [{metric: cpu, amount: 8}]}
- {name: b, region: west, rack: r2, capacity: [{metric: cpu, amount: 8}, {metric: memory, amount: 6.5}]}
- {name: c, region: west, draining: true}
shards:
- {name: s1, replicas: 2, load: [{metric: cpu, amount: 1.5}], servers: [a, c]}
- {name: s2, load: [{metric: cpu, amount: 3}], preferred_region: west, pinned: true}
"""
RULES_YAML = """constraints:
- capacity: {metric: cpu, scope: rack, limit: 0.9}
- exclusion: {scope: region}
goals:
- {spread: {scope: region}, priority: 1}
- {drain: {}, priority: 2}
- {balance: {metric: cpu}, priority: 3, weight: 2}
- {headroom_ratio: {metric: cpu, with: memory}, priority: 4}
"""
LANGUAGE_YAML = """metrics: [cpu]
servers:
- {name: a, cost: 3, capacity: [{metric: cpu, amount: 8}]}
- {name: b, cost: 0, capacity: [{metric: cpu, amount: 8}]}
shards:
- {name: s1, replicas: 2, most_per_server: 2, move_cost: 7, servers: [a],
   load: [{metric: cpu, amount: 1}]}
- {name: s2, load: [{metric: cpu, amount: 2}], servers: [a]}
constraints:
- exclusion: {}
- company: {scope: rack, limits: [{shard: s1, with: s2, most: 1}]}
- least_load: {metric: cpu, scope: region, least: 0.25}
goals:
- {servers_in_use: {}, priority: 5}
- {move_cost: {}, priority: 5, weight: 0.5}
"""
NONE_YAML = """constraints: []
goals: []
"""
ROADEF = """2
0 10
1 2
4
0 0 30 400  16 80   0 1 4 5
0 0 10 240  8 160   1 0 3 4
1 1 15 100  12 80   4 3 0 2
1 1 10 100  8 80    5 4 2 0
3
2 0
1 1 0
1 0
5
0 12 10 1000
0 10 20 100
1 6 200 1
1 3 50 1
2 2 5 7
1
0 1 20 10
1 10 100
---
0 3 0 2 1
"""
SNAPSHOT = """snapshot {
  version { leader_epoch: 1 sequence: %d } last: %s
  servers { index: 0 name: "kv-0" endpoint: "127.0.0.1:7000" fault_domain { region: "r" } }
  servers { index: 1 name: "kv-1" endpoint: "127.0.0.1:7001" }
  shards { index: 0 id: "s0" range { end: "k" } replicas { server: 0 role: PRIMARY } }
  shards { index: 1 id: "s1" range { start: "k" } replicas { server: 1 role: PRIMARY } }
}"""
PART = """snapshot {
  version { leader_epoch: 1 sequence: 1 } last: %s shards { index: %d id: "s%d" } }"""
DELTA = """delta {
  from { leader_epoch: 1 sequence: %d } version { leader_epoch: 1 sequence: %d }
  shards { index: 1 replicas { server: %d role: PRIMARY } }
  servers { index: 2 name: "kv-2" endpoint: "127.0.0.1:7002" }
}"""
RECORDS = [
    ("CellConfig", 'cell: "c" zookeeper_tick_ms: 2000 session_timeout_ms: 10000 buckets: 64'),
    ("LeaderRecord", 'endpoint: "h:1" process: "h/2"'),
    ("StoredSpec", "spec { %s } deleting: true" % SPEC),
    ("ServerRecord", 'server: "kv-1" departed: true'),
    ("LiveRecord", 'server: "kv-1" incarnation: 3 endpoint: "h:1" fault_domain { region: "r" }'
                   ' capacity: 7 process: "h/3"'),
    ("AssignmentRecord", 'server: "kv-1" replicas { shard: "s" role: PRIMARY epoch: 4294967297'
                         ' phase: GRANTED } replicas { shard: "t" role: SECONDARY epoch: 7'
                         ' phase: DROPPING }'),
]
SUPPLIED_MAP = """
app: "kv" supplier_life: 1 sequence: 1
servers { server: "kv-1" incarnation: 7 process: "host/1"
          fault_domain { region: "r1" datacenter: "d1" rack: "k1" }
          replicas { shard: "s-0" role: PRIMARY serving: true }
          replicas { shard: "s-1" role: SECONDARY } }
servers { server: "kv-2" incarnation: 1 down: true fault_domain { region: "r2" } }
"""
REPORT = """app: "kv" manager: "kube-eu" manager_life: 7 sequence: 3
    operations { id: "rollout-42/kv-3" kind: RESTART server: "kv-3" incarnation: 5 expected_ms: 900
                 deadline_ms: 60000 stage: OPERATION_BEGIN reason: "version 42" }
    operations { id: "b" kind: STOP server: "kv-4" incarnation: 1 state_lost: true }"""
EVENTS = ["admission", "call_machine", "client_reports", "key_table", "map_feed", "membership", "partition",
          "shard_book", "solver", "task_controller"]


def encode(file, message, text):
    return subprocess.run(
        ["protoc", "-I", ROOT / "proto", f"--encode=shardmanager.v1.{message}",
         f"shardmanager/v1/{file}.proto"],
        input=text.encode(), capture_output=True, check=True).stdout


def long_text(data):  # as FuzzInput::Text reads it, with `most` above 255
    return len(data).to_bytes(2, "big") + data


def write(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"hand-{name}").write_bytes(data if isinstance(data, bytes) else data.encode())


def stream(messages):
    # No new stream; the message; a key to look up.
    return b"".join(b"\x01" + long_text(encode("discovery", "WatchResponse", m)) + b"\x01k"
                    for m in messages)


# No secrets of anybody.
SECRET = "5" * 64
DIGEST = "c/control-plane:" + "A" * 27 + "="
CREDENTIALS = {
    "cell": f"# comment\nkind: cell\ncell: c\nsecret: {SECRET}\nsecret: {SECRET}\n",
    "app": f"kind: app\ncell: c\napp: kv\nsecret: {SECRET}\nservers-password: {SECRET}\n"
           f"control-plane: {DIGEST}\n",
    "server": f"kind: server\ncell: c\napp: kv\nserver: kv-1\nsecret: {SECRET}\n"
              f"servers-password: {SECRET}\napp-password: {SECRET}\ncontrol-plane: {DIGEST}\n",
    "wrong": f"kind: cell\ncell: a/b\nsecret: {SECRET[1:]}\n",
}


def main():
    write("canary", "silent", "LO")
    for name, text in {"plain": "kv-1@3", "at": "a@b@12", "big": "x@18446744073709551616",
                       "none": "@", "zero": "kv@007", "proof": "kv@3.0af3"}.items():
        write("live_name", name, "\x07" + text)
    for name, text in {"server": "spiffe://prod/server/kv/kv-3",
                       "client": "spiffe://prod/client/kv/shop/checkout",
                       "dns": "kv-3.kv.server.prod.shardmanager", "path": "control-plane/sm-1",
                       "empty": "spiffe://prod/server//x", "trial": "spiffe://trial/trial/local",
                       }.items():
        write("identity_name", name, text)
    # Of a new record: grant alice viewer, then app-owner of kv and shop, then take kv away, then all.
    write("policy", "new", bytes([1, 1, 0, 0, 0, 1, 0, 2, 3, 0, 0, 2, 1, 0, 0, 0, 0, 1, 4, 0, 0]))
    grants = ("grants { identity: 'operator/bob' role: 'app-owner' apps: 'kv' } "
              "grants { identity: 'operator/bob' role: 'king' } grants { role: 'viewer' }")
    write("policy", "stored", b"\0" + long_text(encode("access", "StoredPolicy", grants)) +
          bytes([1, 1, 2, 2, 0, 1, 2, 0]))
    for name, text in CREDENTIALS.items():
        write("credentials", name, text)
    for kind, (message, text) in enumerate(RECORDS):
        record = encode("stored", message, text)
        write("stored_record", message, bytes([kind, 0]) + long_text(record) + b"\x01\x00\x09\x01")
        envelope = encode("stored", "Envelope", f"format_version: {kind % 3} record: 'r'")
        write("stored_record", f"envelope-{kind}", bytes([kind, 1]) + envelope)
    write("spec_yaml", "kvstore", (ROOT / "examples/kvstore/kv.yaml").read_bytes())
    write("spec_yaml", "two", "name: kv\nkey_space: {shards: [{id: a, range: {end: 'm'}}, "
          "{id: b, range: {start: m}}]}\n---\nname: kv\nkey_space:\n  split_points: [\"m\\x41\"]\n")
    write("spec_yaml", "wrong", "name: KV\nreplication: {replicas: 99, strategy: none}\n")
    write("spec_message", "shards", long_text(encode("app_spec", "AppSpec", SPEC)))
    write("spec_message", "both", long_text(encode("app_spec", "AppSpec", SPEC)) +
          encode("app_spec", "AppSpec", SPLIT))
    write("placement_yaml", "defaults", PLACEMENT_YAML)
    write("placement_yaml", "rules", PLACEMENT_YAML + RULES_YAML)
    write("placement_yaml", "language", LANGUAGE_YAML)
    write("placement_yaml", "none", PLACEMENT_YAML + NONE_YAML)
    for name, rules in {"defaults": "", "rules": RULES, "language": LANGUAGE}.items():
        write("placement_message", name, encode("placer", "PlaceRequest", PLACEMENT % rules))
    write("roadef", "small", ROADEF)
    write("map_stream", "deltas", stream(
        [SNAPSHOT % (1, "true"), DELTA % (1, 2, 0), DELTA % (2, 4, 2), SNAPSHOT % (5, "true"),
         DELTA % (1, 9, 0), "heartbeat { version { leader_epoch: 1 sequence: 5 } }"]))
    write("map_stream", "parts", stream([PART % ("false", 0, 0), PART % ("true", 1, 1)]))
    write("task_report", "restart", encode("task_control", "ReportRequest", REPORT))
    write("task_report", "wrong", encode("task_control", "ReportRequest",
                                         'manager: " " operations { id: "a" } operations { id: "a" }'))
    write("supplied_map", "two", encode("task_control", "SupplyMapRequest", SUPPLIED_MAP))
    write("supplied_map", "wrong", encode("task_control", "SupplyMapRequest",
                                          'unchanged: true servers { server: "a" } servers { server: "a" }'))
    for target in EVENTS:
        source = random.Random(target)
        for length in (40, 150, 400):
            write(target, str(length), source.randbytes(length))


main()
