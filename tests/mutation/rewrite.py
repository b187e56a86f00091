"""Writes mutants into a source: each place gets a switch, nothing else changes.

Lines stay where they are, so that a compiler's error leads to the mutant that caused it.
"""
from mutation import mutant as mutants

HEADER = 'sm_mutate_switch.h'
_HEAD = f'#include "{HEADER}"\n#line 1\n'


def with_switches(text, chosen, number_of):
    """The text with all of the mutants `chosen` in it; number_of(mutant) is its switch."""
    edits = [(edit, _switch(m, number_of(m))) for m in chosen for edit in m.edits]
    # Of edits of one range the first is the outermost.
    edits.sort(key=lambda pair: (pair[0].start, -pair[0].end))
    insertions = []
    for order, (edit, switch) in enumerate(edits):
        before = edit.before.replace(mutants.ON, switch)
        insertions.append(((edit.start, 1, -edit.end, order), before))
        insertions.append(((edit.end, 0, -edit.start, -order), edit.after))
    insertions.sort()
    return _HEAD + _insert(text, [(key[0], piece) for key, piece in insertions])


def overlap(one, other):
    """Two mutants that cannot be in one text: their places cross."""
    return any(a.start < b.start < a.end < b.end or b.start < a.start < b.end < a.end
               for a in one.edits for b in other.edits)


def _switch(m, number):
    name = 'OnAtRunTime' if m.at_compile_time else 'On'
    return f'::sm_mutate::{name}({number})'


def _insert(text, insertions):
    pieces, at = [], 0
    for offset, piece in insertions:
        pieces += (text[at:offset], piece)
        at = offset
    return ''.join(pieces) + text[at:]
