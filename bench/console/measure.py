"""measure.py URL APP: how long a browser takes to show an app's shards, and to filter them."""
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / 'tests' / 'console'))
from browser import Browser  # noqa: E402


def mark(browser, name):
    return browser.run(f"performance.getEntriesByName('{name}')[0]?.startTime ?? 0")


def first_paint(browser, url):
    browser.open('about:blank')
    time.sleep(4)  # so that the console has to ask anew
    browser.open(url)
    browser.wait("performance.getEntriesByName('list-painted').length > 0 && document.querySelector('.row a') !== null")
    return mark(browser, 'list-painted')


def parts(browser):
    """Of a first paint: when the last script was there, when rows were asked for, and when they came."""
    return browser.run("""(() => {
        const all = performance.getEntriesByType('resource');
        const scripts = all.filter((e) => e.name.endsWith('.js')).map((e) => e.responseEnd);
        const rows = all.find((e) => e.name.includes('/shards?') && e.name.includes('offset='));
        return [Math.max(...scripts), rows.startTime, rows.responseEnd];
    })()""")


def filters(browser):
    browser.run("document.querySelector('#shard-filter').focus()")
    for digit in '0017':
        before = browser.run("performance.getEntriesByName('filter-painted')[0]?.startTime ?? -1")
        browser.type(digit)
        browser.wait(f"performance.getEntriesByName('filter-painted')[0]?.startTime > {before}")
        yield mark(browser, 'filter-painted') - mark(browser, 'filter-input')


def main():
    url = f'{sys.argv[1]}/#/apps/{sys.argv[2]}/shards'
    browser = Browser()
    paints, times, steps = [], [], []
    for _ in range(10):
        paints.append(first_paint(browser, url))
        steps.append(parts(browser))
        times += filters(browser)
    browser.close()
    times.sort()
    print('first paints, in ms:', ' '.join(f'{t:.0f}' for t in paints))
    loaded, asked, came = (statistics.median(step) for step in zip(*steps))
    print(f'of these, at the median: scripts there after {loaded:.0f}, rows asked for after {asked:.0f}, there after {came:.0f}')
    print(f'FIGURE console_first_paint_ms {statistics.median(paints):.0f} ms')
    print(f'FIGURE console_filter_ms {statistics.median(times):.0f} ms')
    print(f'FIGURE console_filter_p95_ms {times[int(0.95 * len(times))]:.0f} ms')


if __name__ == '__main__':
    main()
