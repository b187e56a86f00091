"""Which mutants each test case comes to, and how long it takes: one run of all, without a mutant.

Every test case runs in a process of its own, so that what is measured is its own doing.
"""
import concurrent.futures
import dataclasses
import json
import pathlib
import tempfile

from mutation import process, suite

_FEW = 20   # mutants
_KEPT = 10  # files of earlier runs
TABLE = 1 << 16  # bytes; kMostMutants of switch.h


@dataclasses.dataclass
class Measured:
    case: suite.Case
    seconds: float
    reached: frozenset  # numbers of mutants
    passed: bool


def run(command, program, timeout, number=None):
    """(outcome, numbers of the mutants that any process of it came to)."""
    with tempfile.NamedTemporaryFile(prefix='sm-mutate-reached-') as table:
        table.truncate(TABLE)
        variables = {**suite.environment(program), 'SM_MUTANT_REACHED': table.name}
        if number is not None:
            variables['SM_MUTANT'] = str(number)
        outcome = process.run(command, timeout, program.cwd, variables)
        reached = pathlib.Path(table.name).read_bytes()
    return outcome, frozenset(i for i, byte in enumerate(reached) if byte)


def cases_that_may_reach(programs, numbers, jobs):
    """All test cases, but of programs only that come to one of the mutants. (To ask each program as
    a whole is worth the time only for a few mutants.)"""
    if len(numbers) <= _FEW:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            together = [p for p in programs if not p.alone]
            answers = list(pool.map(lambda p: run(list(p.command), p, p.timeout)[1], together))
        untouched = {p for p, reached in zip(together, answers) if not reached & numbers}
        programs = [p for p in programs if p not in untouched]
    return [case for p in programs for case in suite.cases(p)]


def measure(cases, jobs, say):
    """Runs all; those that want the machine for themselves come last, one by one."""
    together = [c for c in cases if not c.program.alone]
    alone = [c for c in cases if c.program.alone]
    measured = _measure(together, jobs, say) + _measure(alone, 1, say)
    return measured


def _measure(cases, jobs, say):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(_measure_one, case) for case in cases]
        measured = []
        for number, future in enumerate(running, 1):
            measured.append(future.result())
            if number % 200 == 0:
                say(f'  {number} of {len(cases)} tests')
    return measured


def _measure_one(case):
    """A test that fails gets a second chance: the machine may have been slow."""
    for _ in range(2):
        outcome, reached = run(suite.command(case.program, [case.name]), case.program,
                               case.program.timeout)
        if outcome.passed:
            break
    return Measured(case, outcome.seconds, reached, outcome.passed)


def save(path, key, measured):
    rows = [{'program': m.case.program.name, 'name': m.case.name, 'seconds': round(m.seconds, 3),
             'reached': sorted(m.reached), 'passed': m.passed} for m in measured]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({'key': key, 'tests': rows}))
    for old in sorted(path.parent.iterdir(), key=lambda p: p.stat().st_mtime)[:-_KEPT]:
        old.unlink()


def load(path, key, programs):
    """What save() kept under this key; None if there is nothing."""
    if not path.exists():
        return None
    kept = json.loads(path.read_text())
    if kept['key'] != key:
        return None
    by_name = {p.name: p for p in programs}
    return [Measured(suite.Case(by_name[row['program']], row['name']), row['seconds'],
                     frozenset(row['reached']), row['passed'])
            for row in kept['tests'] if row['program'] in by_name]
