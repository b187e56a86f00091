"""A cell of real processes for the tests of this folder: the installed shardmanagerd with a private
ZooKeeper, and the servers that a test starts. Every process ends with the test, however that ends."""

import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import time

PATIENCE_S = 90  # for anything that this machine may be slow at


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def free_port():
    """A port that nobody listens at, and that the system gives to no connection of its own soon."""
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


class Process:
    """A program whose output goes to a file, and which can be spoken to."""

    def __init__(self, command, log, **more):
        self.log = log
        with open(log, 'ab') as output:
            self.popen = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                                          stderr=output, preexec_fn=_die_with_parent,
                                          **{'stdout': output, **more})

    def stop(self):
        """SIGTERM; the exit code."""
        if self.popen.poll() is None:
            self.popen.terminate()
        try:
            return self.popen.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            return self.popen.wait()


class Cell:
    """Use as a context: processes stop at its end, the last one first."""

    def __init__(self, programs, folder):
        self.programs = pathlib.Path(programs)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        # shardmanagerd makes certificates for trials there, and everything finds them.
        os.environ['SM_CERTS'] = str(self.folder / 'certs')
        self.endpoint = f'127.0.0.1:{free_port()}'
        self.zookeeper = f'127.0.0.1:{free_port()}'
        self.processes = []

    def __enter__(self):
        self.start('shardmanagerd', [
            self.programs / 'shardmanagerd', '--dev', '--data-dir', self.folder / 'zookeeper',
            '--zookeeper', self.zookeeper, '--listen', self.endpoint])
        self._await_leader()
        return self

    def _await_leader(self):
        # Nothing tells when a process that has no parent in the cell answers, so it is asked.
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self.shardctl('get', 'apps')
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def __exit__(self, kind, error, trace):
        for process in reversed(self.processes):
            process.stop()
        if kind is not None:
            self.print_logs()

    def start(self, name, command, **more):
        process = Process(command, self.folder / f'{name}.log', **more)
        self.processes.append(process)
        return process

    def shardctl(self, *arguments):
        """Its output. An error of it is one of the test."""
        done = subprocess.run(
            [str(word) for word in (self.programs / 'shardctl', '--timeout', '60s', *arguments)],
            env={**os.environ, 'SHARDCTL_SERVER': self.endpoint}, text=True, timeout=PATIENCE_S,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise RuntimeError(f'shardctl {" ".join(map(str, arguments))}: {done.returncode}\n{done.stdout}')
        return done.stdout

    def print_logs(self):
        for log in sorted(self.folder.glob('*.log')):
            print(f'---- the end of {log.name}')
            print('\n'.join(log.read_text(errors='replace').splitlines()[-20:]))
