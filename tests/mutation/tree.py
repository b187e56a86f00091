"""The mutated copy of the repository, in build/mutate: written, configured and built.

Files are only written when their text changes, so that a build compiles what is needed.
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

from mutation import rewrite
from mutation import text as texts

_HERE = pathlib.Path(__file__).parent
_LEFT_OUT = ('build', '.git', '.cache', '__pycache__')
# What a result hangs on, beside the rules of this tool.
_CODE = ('CMakeLists.txt', 'CMakePresets.json', 'bench', 'cmake', 'examples', 'include', 'proto',
         'src', 'tests')
_PLACE = r'(?P<path>[^\s:][^:\n]*):(?P<line>\d+)'
_ERROR = re.compile(rf'^{_PLACE}:(?:\d+:)? (?:fatal )?error:', re.MULTILINE)
_MENTION = re.compile(rf'(?:^|from |In file included from ){_PLACE}[:,]', re.MULTILINE)


class BuildError(Exception):
    pass


class Tree:
    def __init__(self, root, folder):
        self.root = root
        self.folder = folder
        self.source = folder / 'source'
        self.build = self.source / 'build' / 'mutate'
        self.log = folder / 'logs' / 'build.log'

    def files(self):
        """All files of the repository that a build may need, from the root."""
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(f for f in folders if f not in _LEFT_OUT)
            found += [os.path.relpath(os.path.join(folder, name), self.root) for name in names]
        return sorted(found)

    def digest(self):
        """Changes with everything that decides what a test says about a mutant."""
        sum_of_all = hashlib.sha256()
        for path in self.files():
            if path.split(os.sep)[0] in _CODE and not path.startswith('tests/mutation/'):
                sum_of_all.update(path.encode() + b'\0')
                sum_of_all.update(hashlib.sha256((self.root / path).read_bytes()).digest())
        return sum_of_all.hexdigest()[:16]

    def write(self, mutants, number_of):
        """Brings the copy up to date, with the switches of these mutants in it."""
        of_file = {}
        for m in mutants:
            of_file.setdefault(m.path, []).append(m)
        wanted = self.files()
        for path in wanted:
            text = texts.read(self.root / path)
            if path in of_file:
                text = rewrite.with_switches(text, of_file[path], number_of)
            texts.write_if_changed(self.source / path, text)
            shutil.copymode(self.root / path, self.source / path)
        switch = self.source / 'include' / rewrite.HEADER
        texts.write_if_changed(switch, texts.read(_HERE / 'switch.h'))
        self._remove_all_but(set(wanted) | {str(switch.relative_to(self.source))})

    def _remove_all_but(self, wanted):
        for folder, folders, names in os.walk(self.source):
            folders[:] = [f for f in folders if f not in _LEFT_OUT]
            for name in names:
                path = pathlib.Path(folder) / name
                if str(path.relative_to(self.source)) not in wanted:
                    path.unlink()

    def configure(self):
        """Makes compile_commands.json and the headers of the protos."""
        status, _ = self._run([str(self.source / 'scripts/build'), 'mutate', 'sm_proto', 'sm_grpc'])
        if status != 0:
            raise BuildError(f'the build folder cannot be made; see {self.log}\n{self._tail()}')

    def compile(self, targets, jobs):
        """Builds; returns the places (path, line) of errors in the copy, none: it is built."""
        command = ['cmake', '--build', str(self.build), '-j', str(jobs)]
        for target in targets:
            command += ['--target', target]
        status, output = self._run(command + ['--', '-k', '0'])
        if status == 0:
            return []
        errors = self._places(_ERROR, output)
        if not errors:
            raise BuildError('the build failed, but no error names a place; see '
                             f'{self.log}\n{self._tail()}')
        return errors

    def mentioned(self):
        """All places that the last build spoke of: of an error in a template, who uses it."""
        return self._places(_MENTION, self.log.read_text(errors='replace'))

    def _places(self, pattern, output):
        places = []
        for match in pattern.finditer(output):
            path = pathlib.Path(os.path.normpath(self.build / match['path']))
            if path.is_relative_to(self.source):
                places.append((str(path.relative_to(self.source)), int(match['line'])))
        return list(dict.fromkeys(places))

    def _run(self, command):
        """Runs a build step; what it says goes to the log, its progress to the user."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        environment = dict(os.environ, NINJA_STATUS='[%f/%t] ')
        if not os.access(os.environ.get('HOME', '/nonexistent'), os.W_OK):
            environment.setdefault('CCACHE_DIR', str(self.root / '.cache/ccache'))
        lines, tenths = [], -1
        with open(self.log, 'w') as log, subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                errors='replace', env=environment) as build:
            for line in build.stdout:
                log.write(line)
                lines.append(line)
                step = re.match(r'\[(\d+)/(\d+)\]', line)
                if step and int(step[2]) > 20 and 10 * int(step[1]) // int(step[2]) > tenths:
                    tenths = 10 * int(step[1]) // int(step[2])
                    print(f'  {step[1]} of {step[2]}', file=sys.stderr, flush=True)
        return build.returncode, ''.join(lines)

    def _tail(self):
        return ''.join(self.log.read_text(errors='replace').splitlines(keepends=True)[-30:])
