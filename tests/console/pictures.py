"""pictures.py [NAME...]: makes docs/images/console-*.png anew: a region is lost (region_lost), servers restart one after the
other (rollout), people change things (history)."""
import pathlib
import signal
import subprocess
import sys

from browser import Browser
from dev_cell import BIN, DevCell, SOURCE

_FOLDER = pathlib.Path(SOURCE) / 'docs/images'
_REGIONS = ('eu-west', 'us-east', 'ap-south')


def region_lost():
    spec = (SOURCE / 'examples/kvstore/kv.yaml').read_text()
    with DevCell() as cell:
        cell.apply(spec)
        for i in range(18):
            cell.server(f'kv-{i + 1}', _REGIONS[i % 3], f'dc-{i // 9 + 1}', f'rack-{i % 2 + 1}')
        browser = Browser()
        browser.size(1100, 640)

        def shoot(name, page, ready):
            browser.open(cell.url + '/#/apps/kv' + page)
            browser.wait(ready)
            browser.picture(_FOLDER / f'console-{name}.png')

        browser.open(cell.url + '/#/apps/kv')
        browser.wait("document.querySelector('#verdict')?.innerText === 'all served'")
        for i in range(0, 18, 3):  # of eu-west
            cell.send(f'kv-{i + 1}', signal.SIGKILL)
        browser.open(cell.url + '/#/apps/kv/servers')
        browser.wait("document.querySelectorAll('#heat-map .domain .cell.away').length === 6")
        browser.picture(_FOLDER / 'console-servers-region-lost.png')
        browser.scheme('dark')
        shoot('app-region-lost-dark', '', "document.querySelector('#verdict') !== null")
        browser.close()


def rollout():
    with DevCell() as cell:
        cell.apply((SOURCE / 'examples/kvstore/kv.yaml').read_text())
        manager = subprocess.Popen(
            [BIN / 'localcluster', '--insecure', '--control-plane', cell.admin, '--folder', cell.folder / 'logs',
             *(f'--region={region}={",".join(f"kv-{3 * n + i}" for n in range(3))}' for i, region in enumerate(_REGIONS)),
             '--', BIN / 'kvstore', '--name', '{name}', '--region', '{region}', '--rack', '{rack}', '--insecure',
             '--zookeeper', cell.zookeeper, '--listen', '127.0.0.1:0', '--data', cell.folder / 'data'],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        browser = Browser()
        try:
            browser.size(1100, 640)
            browser.open(cell.url + '/#/apps/kv')
            browser.wait("document.querySelector('#verdict')?.innerText === 'all served'")
            manager.stdin.write('rollout new version\n')
            manager.stdin.flush()
            browser.wait("document.querySelector('main').innerText.includes('1 of 3')", 'a third is done')
            browser.picture(_FOLDER / 'console-rollout.png')
        finally:
            browser.close()
            manager.terminate()
            manager.wait(60)


def history():
    with DevCell() as cell:
        spec = (SOURCE / 'examples/kvstore/kv.yaml').read_text()
        cell.apply(spec)
        for i in range(6):
            cell.server(f'kv-{i + 1}', _REGIONS[i % 3])
        browser = Browser()
        browser.size(1100, 640)
        browser.open(cell.url + '/#/apps/kv')
        browser.wait("document.querySelector('#verdict')?.innerText === 'all served'")
        cell.shardctl('drain', 'server', 'kv-2', '--reason', 'new disks')
        cell.shardctl('pause', 'app', 'kv', '--reason', 'we look at the storage first')
        cell.shardctl('resume', 'app', 'kv')
        cell.shardctl('undrain', 'server', 'kv-2')
        browser.open(cell.url + '/#/history?kind=changes&since=day')
        browser.wait("document.querySelectorAll('.history tbody tr').length === 5")
        browser.picture(_FOLDER / 'console-history.png')
        browser.close()


if __name__ == '__main__':
    _FOLDER.mkdir(exist_ok=True)
    makers = {'region_lost': region_lost, 'rollout': rollout, 'history': history}
    for name in sys.argv[1:] or makers:
        makers[name]()
