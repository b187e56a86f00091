"""A mutant: one small fault in one place of the source."""
import dataclasses
import hashlib


# Stands for the switch in the text of an edit.
ON = '@ON@'


@dataclasses.dataclass(frozen=True)
class Edit:
    """Puts text before and after a piece of the source."""
    start: int
    end: int
    before: str
    after: str


@dataclasses.dataclass
class Mutant:
    path: str        # from the root of the repository: src/router/call.cc
    line: int
    function: str    # CallRun::Look
    operator: str    # one of faults.OPERATORS
    original: str    # on one line, for people and for the list of equivalents
    mutated: str
    start: int       # of `original` in the file
    end: int
    last_line: int   # of the edits
    edits: tuple     # of Edit
    at_compile_time: bool = False  # in a constexpr function, which the compiler may run, too
    ordinal: int = 1  # among mutants that are otherwise named alike, from top to bottom
    id: str = ''

    def name(self):
        """Stays the same when other places of the file change."""
        ordinal = f' #{self.ordinal}' if self.ordinal > 1 else ''
        return (f'{self.path} {self.function} {self.operator}{ordinal}: '
                f'{self.original} -> {self.mutated}')

    def place(self):
        return f'{self.path}:{self.line}'


def number(mutants):
    """Sets ordinals and ids of all mutants of one file."""
    seen = {}
    for mutant in sorted(mutants, key=lambda m: (m.start, m.end)):
        mutant.ordinal = 1
        name = mutant.name()
        mutant.ordinal = seen[name] = seen.get(name, 0) + 1
        mutant.id = hashlib.sha256(mutant.name().encode('utf-8', 'replace')).hexdigest()[:8]


def to_json(mutant):
    return dataclasses.asdict(mutant)


def from_json(fields):
    fields = dict(fields)
    fields['edits'] = tuple(Edit(**edit) for edit in fields['edits'])
    return Mutant(**fields)
