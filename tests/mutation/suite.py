"""The tests of the default set: what ctest knows, taken apart into test cases."""
import dataclasses
import json
import pathlib
import re
import subprocess


# They look for defects that are planted by hand, seed by seed: any change of the code may move what
# they find, so that a failure says nothing about the mutant.
_NO_JUDGE = re.compile(r'_defects_test$')


@dataclasses.dataclass(frozen=True)
class Program:
    """One entry of ctest."""
    name: str
    command: tuple
    cwd: str
    environment: tuple  # of (name, value)
    timeout: float
    alone: bool         # starts real processes and measures times: nothing may run beside it
    cases: bool         # a GoogleTest program, whose test cases can be run one by one

    def target(self):
        """What builds it."""
        return self.name.split()[0]


@dataclasses.dataclass(frozen=True)
class Case:
    """One test case; of a program without cases, the whole program."""
    program: Program
    name: str

    def key(self):
        return f'{self.program.name}:{self.name}' if self.name else self.program.name


def names(build):
    """The tests that the build makes, built or not; each is a target of that name. (Scripts and the
    like come to no place of src/.)"""
    return [e['name'] for e in _entries(build)
            if ('command' not in e or _is_built(e, build)) and not _NO_JUDGE.search(e['name'])]


def programs(build, wanted):
    """The tests of these names, which must be built."""
    return [_program(e) for e in _entries(build)
            if e['name'] in wanted and 'command' in e and _is_built(e, build)]


def _entries(build):
    answer = subprocess.run(['ctest', '--test-dir', str(build), '--show-only=json-v1'],
                            capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)['tests']


def _is_built(entry, build):
    return pathlib.Path(entry['command'][0]).is_relative_to(build)


def _program(entry):
    properties = {p['name']: p['value'] for p in entry['properties']}
    environment = tuple(tuple(e.split('=', 1)) for e in properties.get('ENVIRONMENT', []))
    command = tuple(entry['command'])
    return Program(entry['name'], command, properties.get('WORKING_DIRECTORY', '.'), environment,
                   float(properties.get('TIMEOUT', 600)), bool(properties.get('RUN_SERIAL', False)),
                   cases=len(command) == 1 and command[0].endswith('_test'))


def cases(program):
    """The program must be built."""
    if not program.cases:
        return [Case(program, '')]
    answer = subprocess.run([*program.command, '--gtest_list_tests'], capture_output=True,
                            text=True, cwd=program.cwd, check=True, timeout=60)
    found, suite = [], ''
    for line in answer.stdout.splitlines():
        name = line.split('#')[0].rstrip()
        if line.startswith('  '):
            found.append(Case(program, suite + name.strip()))
        elif re.fullmatch(r'[\w/]+\.', name):
            suite = name
    return [c for c in found if 'DISABLED_' not in c.name]


def command(program, names):
    """Runs these test cases of the program, and stops at the first that fails."""
    if not program.cases:
        return list(program.command)
    return [*program.command, '--gtest_fail_fast', '--gtest_filter=' + ':'.join(names)]


def environment(program):
    return {**dict(program.environment), 'GTEST_COLOR': 'no', 'GTEST_BRIEF': '0'}


def failed_case(output):
    """Which test case failed, or was running when the program ended; None: it does not say."""
    failed = re.search(r'^\[  FAILED  \] ([\w/.]+)', output, re.MULTILINE)
    if failed:
        return failed[1]
    began = re.findall(r'^\[ RUN      \] ([\w/.]+)', output, re.MULTILINE)
    ended = set(re.findall(r'^\[ +(?:OK|SKIPPED) +\] ([\w/.]+)', output, re.MULTILINE))
    return began[-1] if began and began[-1] not in ended else None
