"""Chooses mutants by a seed: the same tree, seed and number give the same ones.

The folders of src/ get shares in proportion to their mutants; within a folder the files do. What
is chosen hangs on the names of mutants only, so a change of the code replaces few of them.
"""
import collections
import hashlib
import math
import os


def ranked(mutants, seed):
    """In the order of the seed's draw."""
    def rank(m):
        return hashlib.sha256(f'{seed}:{m.id}'.encode()).digest()
    return sorted(mutants, key=rank)


def draw(mutants, count, seed):
    """(chosen, reserve): `reserve` replaces, in its order, what turns out not to compile."""
    order = ranked(mutants, seed)
    share_of_folder = _shares(collections.Counter(_folder(m) for m in order), count)
    in_file = collections.Counter(m.path for m in order)
    in_folder = collections.Counter(_folder(m) for m in order)
    most = {}
    for path, size in in_file.items():
        folder = os.path.dirname(path)
        most[path] = math.ceil(share_of_folder[folder] * size / in_folder[folder])
    chosen, reserve, lines = [], [], set()
    taken = collections.Counter()
    for m in order:
        folder, line = _folder(m), (m.path, m.line)
        fits = taken[folder] < share_of_folder[folder] and taken[m.path] < most[m.path]
        if fits and line not in lines:
            chosen.append(m)
            lines.add(line)
            taken.update((folder, m.path))
        else:
            reserve.append(m)
    while len(chosen) < count and reserve:
        chosen.append(reserve.pop(0))
    return chosen, [m for m in reserve if (m.path, m.line) not in lines]


def share(tried, draws):
    """By name of a draw: those of its mutants that were tried, and what replaced the others."""
    drawn = {m.id for chosen in draws.values() for m in chosen}
    spare = [m for m in tried if m.id not in drawn]
    shared = {}
    for name, chosen in draws.items():
        ids = {m.id for m in chosen}
        mine = [m for m in tried if m.id in ids]
        missing = len(chosen) - len(mine)
        shared[name] = mine + spare[:missing]
        spare = spare[missing:]
    return shared


def _folder(m):
    return os.path.dirname(m.path)


def _shares(sizes, count):
    """Whole numbers in proportion to the sizes, which add up to `count`: largest remainders."""
    total = sum(sizes.values())
    count = min(count, total)
    exact = {key: count * size / total for key, size in sizes.items()} if total else {}
    shares = {key: math.floor(value) for key, value in exact.items()}
    by_remainder = sorted(exact, key=lambda key: (shares[key] - exact[key], key))
    for key in by_remainder[:count - sum(shares.values())]:
        shares[key] += 1
    return shares
