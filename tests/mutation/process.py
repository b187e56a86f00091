"""Runs one program of a test: with limits, and nothing of it is left when it is over."""
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import uuid

_MARK = 'SM_MUTANT_RUN'
# A fault may make a program take all memory or fill the disk: 6 GB of data, files of 1 GB. (Stacks
# of threads count as data, so they are of 4 MB: a test has a thousand.)
_LIMITS = 'ulimit -s 4096; ulimit -d 6291456; ulimit -f 2097152; ulimit -c 0'
_LIMITED = ['/bin/sh', '-c', f'{_LIMITS}; exec "$@"', 'sh']


@dataclasses.dataclass
class Outcome:
    passed: bool
    timed_out: bool
    seconds: float
    output: str


class Stopped(Exception):
    """The user has pressed Ctrl-C."""


_stopped = threading.Event()


def stop_all():
    _stopped.set()


def run(command, timeout, cwd=None, environment=None):
    """Runs the command in a temporary folder of its own (TMPDIR), for `timeout` seconds at most."""
    mark = uuid.uuid4().hex
    folder = tempfile.mkdtemp(prefix='sm-mutate-')
    output = pathlib.Path(folder) / 'output'
    variables = {**os.environ, 'TMPDIR': folder, 'TEST_TMPDIR': folder, _MARK: mark,
                 **(environment or {})}
    begun = time.monotonic()
    try:
        with open(output, 'wb') as file:
            process = subprocess.Popen([*_LIMITED, *command], cwd=cwd, env=variables,
                                       stdin=subprocess.DEVNULL, stdout=file,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            timed_out = not _await(process, begun + timeout)
            seconds = time.monotonic() - begun
            _kill(process, mark)
        said = _end_of(output)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if _stopped.is_set():
        raise Stopped
    return Outcome(process.returncode == 0 and not timed_out, timed_out, seconds, said)


def _await(process, deadline):
    """True: it ended by itself."""
    while not _stopped.is_set():
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        try:
            process.wait(min(left, 0.5))
            return True
        except subprocess.TimeoutExpired:
            continue
    return False


def _kill(process, mark):
    """Ends the process, if it is still there, and all that it has left behind."""
    if process.poll() is None:
        process.kill()
        process.wait()
    for _ in range(20):
        left = _marked(mark)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not left:
            break
        time.sleep(0.05)


def _marked(mark):
    """Processes that were started by this run, whoever their parent is now."""
    wanted = f'{_MARK}={mark}'.encode()
    found = []
    for entry in os.listdir('/proc'):
        try:
            if entry.isdigit() and wanted in pathlib.Path('/proc', entry, 'environ').read_bytes():
                found.append(int(entry))
        except OSError:
            pass  # of another user, or gone
    return found


def _end_of(path, most=200_000):
    with open(path, 'rb') as file:
        file.seek(max(0, path.stat().st_size - most))
        return file.read().decode(errors='replace')
