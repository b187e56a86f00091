"""Runs the application in app/: rate_limiter.py PROGRAMS BUILD APP FOLDER. PROGRAMS has the installed
programs, BUILD those of the application, APP its sources.

Two servers hold 64 shards. While the client calls, and then while it reads streams, one of them is drained,
so that shards move under its calls and streams. The client says whether a token was lost or taken twice."""

import subprocess
import sys

from cell import PATIENCE_S, Cell


def main():
    programs, build, app, folder = sys.argv[1:]
    with Cell(programs, folder) as cell:
        counts = cell.folder / 'counts'
        counts.mkdir()
        cell.shardctl('apply', '-f', f'{app}/limits.yaml')
        for name in ('limiter-1', 'limiter-2'):
            cell.start(name, [f'{build}/limiter_server', name, cell.zookeeper, counts])
        client = cell.start('client', [f'{build}/limiter_client', cell.endpoint],
                            stdout=subprocess.PIPE, text=True).popen
        if client.stdout.readline() != 'running\n':
            raise RuntimeError('the client does not run')
        cell.shardctl('drain', 'server', 'limiter-1', '--app', 'limits', '--wait')
        cell.shardctl('undrain', 'server', 'limiter-1', '--app', 'limits')
        client.stdin.close()
        cell.shardctl('drain', 'server', 'limiter-2', '--app', 'limits', '--wait')
        verdict = client.stdout.read().strip()
        print(verdict)
        if client.wait(PATIENCE_S) != 0:
            raise RuntimeError(f'the client found a fault: {verdict}')


if __name__ == '__main__':
    main()
