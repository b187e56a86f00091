"""From the files of src/ to their mutants, with libclang.

What other projects' headers say is parsed once, into a precompiled header; then a file costs a
second. The mutants of a file are kept in the cache until the file, a header of src/ or the rules
change.
"""
import hashlib
import json
import pathlib
import re
import shlex
import tempfile

from clang import cindex

from mutation import find, mutant
from mutation import source as sources
from mutation import text as texts

RULES = [pathlib.Path(__file__).parent / f'{name}.py' for name in
         ('arid', 'faults', 'find', 'mutant', 'parse', 'source', 'syntax', 'text')]
_EXTERNAL = re.compile(r'^#include (?:<.+>|"(?:absl|google|grpcpp)/.+"|".+\.pb\.h")', re.MULTILINE)
# Templates are instantiated in the precompiled header, not once more for each file.
_ONCE = '-fpch-instantiate-templates'
# Clang 14 says so of every precompiled header with C++20; nothing is wrong.
_HARMLESS = "multiple overloads of '__va_list_tag'"


class ParseError(Exception):
    pass


def flags_of(root, compile_commands):
    """What clang must know to parse any file of src/: all macros and folders of the build."""
    flags = set()
    for command in json.loads(compile_commands.read_text()):
        words = shlex.split(command['command'])
        if f'/src/' not in command['file']:
            continue
        flags.update(w for w in words if w.startswith('-D') and w != '-DSM_DEFECTS')
        flags.update('-isystem' + after for word, after in zip(words, words[1:])
                     if word == '-isystem')
    return ['-std=c++20', '-Wno-everything', f'-I{root}/src', f'-I{root}/include', *sorted(flags)]


class Parser:
    """Parses the files of one tree. Not to be shared between processes."""

    def __init__(self, root, flags, headers):
        self.root = root
        self.flags = flags
        self.headers = headers  # of src/, from the root
        self.index = cindex.Index.create(excludeDecls=True)

    def precompile(self, folder):
        """Parses all headers; returns the mutants in them, and keeps them for parse()."""
        everything = folder / 'headers.h'
        everything.write_text(self._external_includes() + ''.join(
            f'#include "{self.root / header}"\n' for header in self.headers))
        unit = self.index.parse(
            str(everything), ['-x', 'c++-header', _ONCE, *self.flags],
            options=cindex.TranslationUnit.PARSE_INCOMPLETE |
            cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        self._check(unit)
        unit.save(str(folder / 'headers.pch'))
        return self._find(unit, self.headers)

    def parse(self, path, folder):
        """The mutants of one .cc file."""
        unit = self._unit(path, [_ONCE, '-include-pch', str(folder / 'headers.pch')])
        if _errors(unit):
            # Names of all headers at once may be too many. Slow, but rare.
            unit = self._unit(path, [])
            self._check(unit)
        return self._find(unit, [path])[path]

    def _unit(self, path, flags):
        return self.index.parse(str(self.root / path), [*flags, *self.flags],
                                options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)

    def _external_includes(self):
        found = set()
        for path in self.root.glob('src/**/*'):
            if path.suffix in ('.h', '.cc'):
                found.update(_EXTERNAL.findall(texts.read(path)))
        return '\n'.join(sorted(found)) + '\n'

    def _find(self, unit, paths):
        names = {str(self.root / path): path for path in paths}
        macros = {path: [] for path in paths}
        declarations = {path: [] for path in paths}
        for cursor in unit.cursor.get_children():
            place = cursor.location.file
            path = names.get(place.name) if place else None
            if path is None:
                continue
            if cursor.kind == cindex.CursorKind.MACRO_INSTANTIATION:
                macros[path].append((cursor.extent.start.offset, cursor.extent.end.offset))
            elif not cursor.kind.is_preprocessing():
                declarations[path].append(cursor)
        return {path: self._find_in(path, macros[path], declarations[path]) for path in paths}

    def _find_in(self, path, macros, declarations):
        finder = find.Finder(sources.Source(path, texts.read(self.root / path), macros))
        for cursor in declarations:
            finder.add_declaration(cursor)
        finder.finish()
        return finder

    def _check(self, unit):
        errors = _errors(unit)
        if errors:
            raise ParseError(f'clang cannot parse {unit.spelling}: ' + '; '.join(errors[:3]))


def _errors(unit):
    return [str(d) for d in unit.diagnostics
            if d.severity >= cindex.Diagnostic.Error and _HARMLESS not in d.spelling]
