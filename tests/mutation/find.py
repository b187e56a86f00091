"""Finds all mutants of a parsed file: walks its functions and asks faults.py about every node."""
import collections
import dataclasses
import re

from clang.cindex import CursorKind as K

from mutation import arid, faults, mutant, syntax
from mutation import text as texts


@dataclasses.dataclass
class Context:
    function: str = ''
    at_compile_time: bool = False
    reads_clock: bool = False


class Finder:
    """The mutants of one file, and how many places were left out for which reason."""

    def __init__(self, source):
        self.source = source
        self.mutants = []
        self.left_out = collections.Counter()
        self._seen = set()

    def add_declaration(self, cursor):
        """A declaration of the file, with all that is in it."""
        self._declaration(syntax.Node(cursor, self.source))

    def finish(self):
        mutant.number(self.mutants)
        self.mutants.sort(key=lambda m: (m.start, m.end, m.operator, m.mutated))

    def _declaration(self, node):
        if node.kind in syntax.FUNCTIONS:
            self._function(node)
            return
        for child in node.children:
            if child.kind.is_declaration() or child.kind == K.UNEXPOSED_DECL:
                self._declaration(child)

    def _function(self, node):
        if not node.cursor.is_definition() or node.cursor.is_default_method():
            return
        name = _qualified(node.cursor)
        head = node.source.code[node.start:node.cursor.location.offset]
        context = Context(name, re.search(r'\bconst(expr|eval)\b', head) is not None,
                          arid.reads_clock(node))
        if re.search(r'\bconsteval\b', head):
            return
        for child in node.children:
            if child.kind == K.COMPOUND_STMT or child.kind.is_expression():
                self._visit(child, context)

    def _visit(self, node, context, why_not=None):
        """`why_not`: the reason why nothing in the node becomes a mutant; it is only counted."""
        if self.source.in_macro_use(node.start, node.end):
            self.left_out[arid.MACRO] += 1
            return
        why_not = why_not or arid.subtree_reason(syntax.bare(node))
        if node.kind in syntax.FUNCTIONS:  # of a class inside the function
            self._function(node)
            return
        for finder in faults.FINDERS:
            for fault in finder(node, context):
                self._add(fault, context, why_not or fault.why_not)
        step = _step_of_loop(node)
        for child in node.children:
            self._visit(child, context, arid.ENDLESS if child.start == step else why_not)

    def _add(self, fault, context, why_not):
        key = (fault.start, fault.end, fault.mutated)
        if key in self._seen or not self._is_sound(fault):
            return
        self._seen.add(key)
        if why_not is not None:
            self.left_out[why_not] += 1
            return
        self.mutants.append(mutant.Mutant(
            path=self.source.path, line=self.source.line(fault.edits[0].start),
            function=context.function, operator=fault.operator,
            original=texts.shorten(texts.one_line(fault.original)),
            mutated=texts.shorten(fault.mutated), start=fault.start, end=fault.end,
            last_line=self.source.line(fault.edits[-1].end), edits=fault.edits,
            at_compile_time=context.at_compile_time))

    def _is_sound(self, fault):
        """What clang says about places agrees with the text."""
        for start, end in [(fault.start, fault.end)] + [(e.start, e.end) for e in fault.edits]:
            code = self.source.code[start:end]
            if start >= end or not _balanced(code) or self.source.in_macro_use(start, end):
                return False
        return texts.fits_one_line(fault.original)


def _step_of_loop(node):
    """Where the third part of a for begins; None if there is none."""
    if node.kind != K.FOR_STMT:
        return None
    opening = node.source.code.find('(', node.start)
    second = node.source.separator(node.source.separator(opening))
    steps = [c for c in node.children if second < c.start < node.source.closing(opening)]
    return steps[0].start if steps else None


def _balanced(code):
    depth = 0
    for character in code:
        depth += (character in '([{') - (character in ')]}')
        if depth < 0:
            return False
    return depth == 0


def _qualified(cursor):
    """CallRun::Look: without namespaces."""
    names = []
    while cursor is not None and cursor.kind not in (K.TRANSLATION_UNIT, K.NAMESPACE):
        names.append(cursor.spelling)
        cursor = cursor.semantic_parent
    return '::'.join(reversed(names))
