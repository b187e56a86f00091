"""Puts the chosen mutants into the copy of the tree, and builds it.

What does not compile (an operator that a type does not have, a number that must be known at
compile time) is left out, and the next mutant of the sample takes its place.
"""
import re
import subprocess

from mutation import coverage, rewrite, tree

_MOST_ROUNDS = 25
# CMake compiles the files of a library together, by files that include them.
_TOGETHER = re.compile(r'/unity_\d+_cxx\.cxx$')
_INCLUDED = re.compile(r'^#include "(.+\.cc)"', re.MULTILINE)


def numbers(mutants):
    """A number for each mutant's switch, which hangs on its name: other mutants keep theirs."""
    taken, found = set(), {}
    for m in sorted(mutants, key=lambda m: m.id):
        number = int(m.id, 16) % coverage.TABLE
        while number in taken:
            number = (number + 1) % coverage.TABLE
        taken.add(number)
        found[m.id] = number
    return found


class Planting:
    """What is in the build folder: mutants, their switches, and which ones did not compile."""

    def __init__(self, mutants, dropped):
        self.mutants = mutants
        self.numbers = numbers(mutants)
        self.dropped = dropped

    def number_of(self, m):
        return self.numbers[m.id]


def plant(where, chosen, reserve, targets, jobs, say):
    """Builds the targets that have mutants in them. Returns a Planting and these targets."""
    chosen, reserve, dropped = list(chosen), list(reserve), []
    for _ in range(_MOST_ROUNDS):
        chosen, crossing = _without_crossing(chosen)
        planting = Planting(chosen, dropped)
        where.write(chosen, planting.number_of)
        needed = [t for t in targets if needs(where, t, chosen)]
        say(f'building {len(needed)} programs with {len(chosen)} mutants in them')
        errors = where.compile(needed, jobs)
        if not errors and not crossing:
            return planting, needed
        guilty = _guilty(where, chosen, errors) if errors else []
        dropped += guilty
        chosen = [m for m in chosen if m not in guilty]
        for m in guilty:
            say(f'  does not compile: {m.place()} {m.operator}: {m.original} -> {m.mutated}')
        while reserve and len(chosen) < len(planting.mutants) + len(crossing):
            chosen.append(reserve.pop(0))
    raise tree.BuildError(f'after {_MOST_ROUNDS} rounds some mutants still do not compile')


def _without_crossing(chosen):
    kept, crossing = [], []
    for m in chosen:
        crosses = any(o.path == m.path and rewrite.overlap(o, m) for o in kept)
        (crossing if crosses else kept).append(m)
    return kept, crossing


def needs(where, target, mutants):
    """The target has a mutant in it. (Of headers this is not asked.)"""
    if any(m.path.endswith('.h') for m in mutants):
        return True
    answer = subprocess.run(['ninja', '-C', str(where.build), '-t', 'inputs', target],
                            capture_output=True, text=True, check=True)
    inputs = set(answer.stdout.splitlines())
    for path in [p for p in inputs if _TOGETHER.search(p)]:
        inputs.update(_INCLUDED.findall((where.build / path).read_text()))
    return any(str(where.source / m.path) in inputs for m in mutants)


def _guilty(where, chosen, errors):
    """The mutants that the errors point at; of several in one place the smallest."""
    mentioned = where.mentioned()
    guilty = _smallest_at(chosen, errors) or _smallest_at(chosen, mentioned)
    if not guilty:
        files = {path for path, _ in [*errors, *mentioned]}
        guilty = [m for m in chosen if m.path in files]
    if not guilty:
        path, line = errors[0]
        raise tree.BuildError(f'the build fails at {path}:{line}, and no mutant is near; '
                              f'see {where.log}')
    return guilty


def _smallest_at(chosen, places):
    found = {}
    for path, line in places:
        fitting = [(m.last_line - m.line, m.id, m) for m in chosen
                   if m.path == path and m.line <= line <= m.last_line]
        if fitting:
            m = min(fitting)[2]
            found[m.id] = m
    return list(found.values())
