"""Does what docs/tutorial.md says: tutorial.py PAGE INSTALLED FOLDER. INSTALLED is the prefix of an installation.

Blocks of the page are taken in their order. One with a file's name behind its language is written to that
file ("NAME (more)": to its end). A block of `sh` is run, all in one shell. A block of `text` behind it has lines
that its output must have, in this order; `...` stands for anything. Ports are replaced by free ones, and
warnings are errors."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

from cell import free_port

_FENCE = re.compile(r'^```(\w+)(?: (\S+)( \(more\))?)?$')
_STEPS = 6
_PATIENCE_S = 500
_DONE = '@@ done'


def blocks_of(page):
    """(step, language, file or None, whether it is appended, text), in order."""
    step, block = 0, None
    for line in page.read_text().splitlines():
        heading = re.match(r'^## (?:(\d+)\.)?', line)
        fence = _FENCE.match(line)
        if block is None and heading:
            step = int(heading[1] or 0)
        elif block is None and fence:
            block = (step, fence[1], fence[2], bool(fence[3]), [])
        elif block is not None and line == '```':
            yield (*block[:4], '\n'.join(block[4]) + '\n')
            block = None
        elif block is not None:
            block[4].append(line)


class Shell:
    """One bash for all blocks. All that it has started ends with it."""

    def __init__(self, folder, environment):
        self._folder = folder
        self._bash = subprocess.Popen(['bash', '-e'], cwd=folder, env=environment, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, number, text):
        """The output. An error ends the test."""
        (self._folder / f'block-{number}.sh').write_text(text)
        self._bash.stdin.write(f'source ./block-{number}.sh < /dev/null; echo "{_DONE}"\n')
        self._bash.stdin.flush()
        output = []
        for line in self._bash.stdout:
            if line.strip() == _DONE:
                return output
            output.append(line.rstrip('\n'))
        raise RuntimeError(f'this block failed:\n{text}\nIt said:\n' + '\n'.join(output))

    def end(self):
        try:
            os.killpg(self._bash.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._bash.wait()


def expect(output, wanted):
    """Each wanted line is in the output, in this order."""
    rest = iter(output)
    for line in wanted.splitlines():
        pattern = re.compile('.*'.join(re.escape(part) for part in line.split('...')))
        if not any(pattern.fullmatch(each.strip()) for each in rest):
            raise RuntimeError(f'expected "{line}" in\n' + '\n'.join(output))


def follow(page, folder, shell, ports):
    """Returns the steps in which something was run."""
    steps, output, number = set(), None, 0
    for step, language, name, more, text in blocks_of(page):
        for port, ours in ports.items():
            text = text.replace(f'127.0.0.1:{port}', f'127.0.0.1:{ours}')
        if name:
            with open(folder / name, 'a' if more else 'w') as file:
                file.write(text)
        elif language == 'sh':
            number += 1
            output = shell.run(number, text)
            steps.add(step)
            print(f'step {step}:', '\n'.join(output[-6:]), sep='\n', flush=True)
        elif language == 'text':
            expect(output, text)
    return steps


def main():
    page, installed, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
    folder.mkdir(parents=True)
    ports = {port: free_port() for port in (2181, 7400, 7500)}
    ccache = shutil.which('ccache')
    shell = Shell(folder, {
        **os.environ, 'SM_CERTS': f'{folder}/certs', 'PATH': f'{installed}/bin:{os.environ["PATH"]}',
        'CMAKE_PREFIX_PATH': str(installed), 'CMAKE_GENERATOR': 'Ninja',
        'CXXFLAGS': '-Wall -Wextra -Werror',
        'SHARDCTL_SERVER': f'127.0.0.1:{ports[7400]}',
        **({'CMAKE_CXX_COMPILER_LAUNCHER': ccache} if ccache else {})})
    signal.alarm(_PATIENCE_S)
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f'not done after {_PATIENCE_S} s'))
    try:
        steps = follow(page, folder, shell, ports)
    finally:
        shell.end()
    if steps != set(range(1, _STEPS + 1)):
        sys.exit(f'something was run in the steps {sorted(steps)}; expected: each of 1 to {_STEPS}')


if __name__ == '__main__':
    main()
