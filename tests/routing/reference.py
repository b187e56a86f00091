#!/usr/bin/env python3
"""The routing functions of include/shardmanager/routing.h, in another language.

reference.py          prints the vectors (vectors.txt)
reference.py --check  compares them with vectors.txt; 1 if they differ

A line of vectors.txt: a function, its arguments, "=", and the value. Bytes are hexadecimal, "-" is
no byte at all.
"""

import pathlib
import struct
import sys

MASK = 2**64 - 1
P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def rotl(x, bits):
    return (x << bits | x >> (64 - bits)) & MASK


def round64(lane, word):
    return rotl((lane + word * P2) & MASK, 31) * P1 & MASK


def xxh64(data, seed=0):
    """XXH64 as https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md defines it."""
    rest = data
    if len(data) >= 32:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        while len(rest) >= 32:
            lanes = [round64(lane, word) for lane, word in zip(lanes, struct.unpack("<4Q", rest[:32]))]
            rest = rest[32:]
        h = sum(rotl(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            h = ((h ^ round64(0, lane)) * P1 + P4) & MASK
    else:
        h = (seed + P5) & MASK
    h = (h + len(data)) & MASK
    while len(rest) >= 8:
        h = (rotl(h ^ round64(0, struct.unpack("<Q", rest[:8])[0]), 27) * P1 + P4) & MASK
        rest = rest[8:]
    if len(rest) >= 4:
        h = (rotl(h ^ struct.unpack("<I", rest[:4])[0] * P1 & MASK, 23) * P2 + P3) & MASK
        rest = rest[4:]
    for byte in rest:
        h = rotl(h ^ byte * P5 & MASK, 11) * P1 & MASK
    h = (h ^ h >> 33) * P2 & MASK
    h = (h ^ h >> 29) * P3 & MASK
    return h ^ h >> 32


def key_hash(key):
    return xxh64(key)


def rendezvous(shards, key):
    """`shards`: weight by id."""
    hashed = struct.pack(">Q", key_hash(key))
    scores = {
        shard: max(xxh64(hashed, xxh64(shard, i)) for i in range(weight))
        for shard, weight in shards.items()
    }
    return min(shards, key=lambda shard: (-scores[shard], shard))


def ring(shards, virtual_nodes, key):
    points = sorted(
        (xxh64(shard, i), shard)
        for shard, weight in shards.items()
        for i in range(weight * virtual_nodes)
    )
    at = key_hash(key)
    return next((shard for point, shard in points if point >= at), points[0][1])


def entity_key(entity, bucket):
    return entity.replace(b"\0", b"\0\2") + b"\0\1" + b"%016x" % bucket


KEYS = [
    b"", b"\0", b"a", b"abc", b"user:4711", bytes(range(8)), b"0123456789abcdef", "Zürich".encode(),
    b"the key of a customer in eu-west", b"\xff" * 31, bytes(range(100)),
]
SHARD_SETS = [
    {b"only": 1},
    {b"shard-%d" % i: 1 for i in range(3)},
    {b"shard-%02d" % i: 1 for i in range(16)},
    {b"big": 5, b"middle": 2, b"small": 1},
]
VIRTUAL_NODES = [1, 256]
PAIRS = [(b"", 0), (b"sensor-7", 1), (b"a\0b", 0x123456789ABCDEF0), (b"\0\1", MASK)]


def text(data):
    return data.hex() or "-"


def vectors():
    yield "# What include/shardmanager/routing.h computes; made by reference.py, which says how to read it."
    for key in KEYS:
        yield f"key_hash {text(key)} = {key_hash(key):016x}"
    for shards in SHARD_SETS:
        names = ",".join(f"{shard.decode()}*{weight}" for shard, weight in shards.items())
        for key in KEYS:
            yield f"rendezvous {names} {text(key)} = {rendezvous(shards, key).decode()}"
            for nodes in VIRTUAL_NODES:
                yield f"ring {names} {nodes} {text(key)} = {ring(shards, nodes, key).decode()}"
    for entity, bucket in PAIRS:
        yield f"entity_key {text(entity)} {bucket} = {text(entity_key(entity, bucket))}"


def main():
    lines = "".join(line + "\n" for line in vectors())
    if sys.argv[1:] != ["--check"]:
        sys.stdout.write(lines)
        return 0
    same = lines == (pathlib.Path(__file__).parent / "vectors.txt").read_text()
    if not same:
        print("vectors.txt is not what reference.py computes", file=sys.stderr)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
