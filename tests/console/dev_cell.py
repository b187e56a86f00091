"""A cell of real processes on this machine: `shardmanagerd --dev` and kvstore servers."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

BIN = pathlib.Path(os.environ['SM_BIN_DIR'])
SOURCE = pathlib.Path(os.environ['SM_SOURCE_DIR'])
_PATIENCE_S = 60


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


class DevCell:
    """All of it is gone at the end."""

    def __init__(self, *more_flags):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='sm-console-'))
        (self.folder / 'data').mkdir()
        self.zookeeper = f'127.0.0.1:{free_port()}'
        self.admin = f'127.0.0.1:{free_port()}'
        self._processes = {}
        self._start('shardmanagerd', [BIN / 'shardmanagerd', '--dev', '--insecure', '--listen', self.admin,
                                      '--zookeeper', self.zookeeper, *more_flags])
        self.url = self.await_log(r'the console is at (http://\S+)')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        daemon = self._processes.pop('shardmanagerd')
        for process in self._processes.values():
            process.kill()
            process.wait()
        daemon.send_signal(signal.SIGCONT)
        daemon.terminate()  # its ZooKeeper goes with it
        daemon.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, name, command):
        with open(self.folder / f'{name}.log', 'ab') as log:
            self._processes[name] = subprocess.Popen([str(c) for c in command], stdout=log, stderr=log)

    def standby(self):
        """Another process of the control plane, with a history of its own: (the address of its console, of its Admin API)."""
        admin = f'127.0.0.1:{free_port()}'
        self._start('standby', [BIN / 'shardmanagerd', '--insecure', '--listen', admin, '--zookeeper', self.zookeeper,
                                '--history', self.folder / 'standby', '--console-listen', '127.0.0.1:0'])
        return self.await_log(r'the console is at (http://\S+)', 'standby'), admin

    def log(self, name='shardmanagerd'):
        return (self.folder / f'{name}.log').read_text()

    def await_log(self, pattern, name='shardmanagerd'):
        until = time.monotonic() + _PATIENCE_S
        while not (found := re.search(pattern, self.log(name))):
            if time.monotonic() > until or self._processes[name].poll() is not None:
                raise RuntimeError(f'no "{pattern}" in\n{self.log(name)}')
            time.sleep(0.02)
        return found.group(1) if found.groups() else found.group(0)

    def send(self, name, which):
        self._processes[name].send_signal(which)

    def shardctl(self, *arguments, check=True, admin=None):
        done = subprocess.run([BIN / 'shardctl', '--server', admin or self.admin, '--insecure', *arguments],
                              capture_output=True, text=True, timeout=_PATIENCE_S)
        if check and done.returncode != 0:
            raise RuntimeError(f'shardctl {arguments}: {done.stdout}{done.stderr}')
        return done.stdout

    def apply(self, spec):
        (self.folder / 'spec.yaml').write_text(spec)
        until = time.monotonic() + _PATIENCE_S
        while True:  # the leader is elected yet
            try:
                return self.shardctl('apply', '-f', str(self.folder / 'spec.yaml'))
            except RuntimeError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def server(self, name, region, datacenter='dc-1', rack='rack-1', app='kv'):
        self._start(name, [BIN / 'kvstore', '--app', app, '--name', name, '--zookeeper', self.zookeeper, '--insecure',
                           '--listen', '127.0.0.1:0', '--region', region, '--datacenter', datacenter, '--rack', rack,
                           '--data', self.folder / 'data'])
