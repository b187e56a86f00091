"""The list of mutants that no test can tell from the original, each with the reason.

An entry of equivalents.txt:

    src/router/call.cc CallRun::Run boundary
      now >= until -> now > until
      because the caller asks again a microsecond later.

The first line names file, function and operator, and with ` #2` behind it the second such mutant of
the function only; the next one what the code says and what the mutant says, as the report prints
it. Everything from `because` on is the reason. An entry is good for as long as there is such a
mutant; if there is none any more, the report says so.
"""
import dataclasses
import re


@dataclasses.dataclass
class Entry:
    path: str
    function: str
    operator: str
    ordinal: int  # 0: any
    original: str
    mutated: str
    reason: str
    line: int     # in the list

    def fits(self, m):
        return (m.path, m.function, m.operator, m.original, m.mutated) == (
            self.path, self.function, self.operator, self.original, self.mutated) and \
            self.ordinal in (0, m.ordinal)


class ListError(Exception):
    pass


def read(path):
    entries, block, begin = [], [], 0
    for number, line in enumerate([*path.read_text().splitlines(), ''], 1):
        if line.startswith('#'):
            continue
        if not line.startswith(' ') and block:
            entries.append(_entry(path, block, begin))
            block = []
        if line.strip():
            if not block:
                begin = number
            block.append(line.strip())
    return entries


def _entry(path, lines, number):
    head = re.fullmatch(r'(\S+) (.*\S) ([\w-]+)(?: #(\d+))?', lines[0])
    change = lines[1].split(' -> ', 1) if len(lines) > 1 else []
    reason = ' '.join(lines[2:])
    if head is None or len(change) != 2 or not reason.startswith('because '):
        raise ListError(f'{path.name}:{number}: an entry is three lines or more: '
                        '"FILE FUNCTION OPERATOR"; "CODE -> MUTATED CODE"; "because ..."')
    return Entry(head[1], head[2], head[3], int(head[4] or 0), change[0], change[1],
                 reason.removeprefix('because '), number)


def find(entries, m):
    """The entry for this mutant; None: it is not equivalent, as far as we know."""
    return next((e for e in entries if e.fits(m)), None)


def stale(entries, mutants):
    """Entries that name no mutant any more."""
    return [e for e in entries if not any(e.fits(m) for m in mutants)]


def as_entry(m):
    """What to add to the list for this mutant."""
    ordinal = f' #{m.ordinal}' if m.ordinal > 1 else ''
    return (f'{m.path} {m.function} {m.operator}{ordinal}\n  {m.original} -> {m.mutated}\n'
            '  because ...')
