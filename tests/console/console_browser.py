"""What a person sees and does in the console, in a real browser, of a cell of real processes."""
import signal
import sys
import time

from browser import Browser
from dev_cell import DevCell, SOURCE

_REGIONS = ('eu-west', 'us-east', 'ap-south')


def text(browser, selector='main'):
    return browser.run(f'document.querySelector({selector!r})?.innerText ?? ""')


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def overview_renders(browser, cell):
    browser.open(cell.url + '/')
    browser.wait("document.querySelector('main').innerText.includes('all served')", 'the app is served')
    expect('120' in text(browser), 'the overview has the number of shards')
    browser.run("document.querySelector('main a').click()")
    browser.wait("document.querySelector('#verdict')?.innerText === 'all served'")
    browser.run('history.back()')
    browser.wait("document.querySelector('h1').innerText === 'Overview'", 'the back button works')


def shards_filter_and_keys_move(browser, cell):
    browser.open(cell.url + '/#/apps/kv/shards')
    browser.wait("document.querySelector('#shard-count').innerText.startsWith('120 of 120')")
    expect(browser.run("document.querySelectorAll('.row').length") < 60, 'only rows in view are elements')
    browser.run("document.querySelector('#shard-filter').focus()")
    browser.type('shard-01')
    browser.wait("document.querySelector('#shard-count').innerText.startsWith('10 of 120')")
    expect(browser.run('location.hash').endswith('?filter=shard-01'), 'the address says what is filtered')
    browser.press('ArrowDown')  # into the list
    expect(browser.run("document.activeElement.getAttribute('role')") == 'grid', 'the list has the focus')
    for key, row in (('ArrowDown', 1), ('End', 9), ('ArrowUp', 8), ('Home', 0)):
        browser.press(key)
        active = browser.run("document.activeElement.getAttribute('aria-activedescendant')")
        expect(active == f'shard-row-{row}', f'{key} goes to row {row}, not {active}')
    expect(browser.run("document.querySelector('#shard-row-0').getAttribute('aria-selected')") == 'true', 'it is selected')
    browser.press('Enter')
    browser.wait("document.querySelector('h1').innerText === 'Shard shard-010 of kv'", 'Enter opens the shard')
    browser.wait("document.querySelector('main').innerText.includes('Where it could be')", 'it is explained')


def links_lead_deep(browser, cell):
    browser.open('about:blank')
    browser.open(cell.url + '/#/apps/kv/shards?filter=shard-11&state=serving')
    browser.wait("document.querySelector('#shard-count')?.innerText.startsWith('10 of 120')")
    browser.open(cell.url + '/#/apps/kv/servers')
    browser.wait("document.querySelectorAll('#heat-map .rack .cell').length === 6")
    label = browser.run("document.querySelector('#heat-map .rack .cell').getAttribute('aria-label')")
    expect('live' in label and 'replicas' in label, f'a cell says what it is: {label}')


def everything_has_a_name(browser):
    nameless = browser.run("""[...document.querySelectorAll('input, select, button, a, [role=grid], progress')].filter((e) =>
        !(e.getAttribute('aria-label') || e.innerText || e.labels?.length)).map((e) => e.outerHTML).join()""")
    expect(nameless == '', f'without a name for screen readers: {nameless}')
    for _ in range(3):
        browser.press('Tab')
    expect(browser.run('document.activeElement !== document.body'), 'Tab comes to something')


def dark_is_dark(browser):
    def back():
        return sum(int(n) for n in browser.run('getComputedStyle(document.body).backgroundColor')[4:-1].split(','))
    browser.scheme('dark')
    expect(back() < 150, 'the page is dark')
    browser.scheme('light')
    expect(back() > 600, 'the page is light')


def names_stay_names(browser, cell):
    browser.open(cell.url + '/#/apps/%3Cscript%3Ewindow.evil%3D1%3C%2Fscript%3E/shards/%3Cimg%20src%3Dx%20onerror%3D%22window.evil%3D1%22%3E')
    browser.wait("document.querySelector('main .box.bad') !== null", 'no such app')
    expect('<img' in text(browser, 'h1'), 'the name is shown as it is')
    expect(browser.run("document.querySelector('main img, main script')") is None, 'and is no element')
    expect(browser.run('window.evil') is None, 'and nothing of it ran')


def what_people_and_servers_write_stays_text(browser, cell):
    evil = '<img src=x onerror=window.evil=1>'
    cell.server('kv-7', 'eu-west', rack=evil)
    cell.shardctl('drain', 'server', 'kv-1', '--reason', evil)
    for page, selector in (('', 'table[aria-label=Drains]'), ('/servers', '#heat-map')):
        browser.open(cell.url + '/#/apps/kv' + page)
        browser.wait(f"document.querySelector({selector!r}).innerText.includes({evil!r})", 'it is shown as it is')
        expect(browser.run("document.querySelector('main img')") is None, 'and is no element')
    expect(browser.run('window.evil') is None, 'and nothing of it ran')


def an_error_goes_with_its_cause(browser, cell):
    browser.open(cell.url + '/#/apps/later/shards')
    browser.wait("document.querySelector('main .box.bad') !== null", 'there is no such app yet')
    cell.apply((SOURCE / 'examples/kvstore/kv.yaml').read_text().replace('name: kv', 'name: later'))
    browser.wait("document.querySelector('#shard-count').innerText.startsWith('120 of 120')", 'it is shown once it is there')
    expect(browser.run("document.querySelector('main .box.bad')") is None, 'the error is gone')


def what_if_answers(browser, cell):
    browser.open(cell.url + '/#/apps/kv/what-if')
    browser.wait("document.querySelector('#what-if-scope').options.length > 6")
    browser.run("document.querySelector('#what-if-ask').click()")
    browser.wait("document.querySelector('#what-if-served')?.innerText.startsWith('All 120 shards would be served')")
    browser.run("document.querySelector('#what-if-scope').value = 'region eu-west'; document.querySelector('#what-if-ask').click()")
    browser.wait("document.querySelector('main h2')?.innerText === 'What would follow if we lose all of region eu-west'", 'what was asked')
    rows = browser.run("[...document.querySelectorAll('main tbody tr')].map((row) => row.innerText.split('\\t').join(' '))")
    expect('eu-west: servers live 2 0 -2' in rows, f'the region that is lost is said to be empty: {rows}')
    expect('as soon as the loss is noticed' in text(browser, '#what-if-served') or 'after the loss is noticed' in text(browser, '#what-if-served'), 'it takes a while')
    browser.run("document.querySelector('#what-if-kind').value = 'drain'; document.querySelector('#what-if-ask').click()")
    browser.wait("document.querySelector('main h2')?.innerText.startsWith('What would follow if we drain')")
    expect('loss' not in text(browser, '#what-if-served'), 'a drain loses nothing')


def hidden_pages_ask_nothing(browser, cell):
    browser.open(cell.url + '/#/apps/kv/servers')
    browser.wait("document.querySelectorAll('#heat-map .rack .cell').length === 6")
    browser.run("window.asked = 0; const real = fetch; window.fetch = (...all) => { ++window.asked; return real(...all); }")
    browser.wait('window.asked > 0', 'a page in view asks')
    browser.hide(True)
    time.sleep(0.5)
    before = browser.run('window.asked')
    time.sleep(5)  # two rounds and more: that nothing happens is no event
    expect(browser.run('window.asked') == before, 'a hidden page asks nothing')
    browser.hide(False)
    browser.wait(f'window.asked > {before}', 'it goes on when it is seen again')


def half_an_answer_is_none(browser):
    got = browser.run("""import('/api.js').then(async ({get}) => {
        const real = fetch;
        window.fetch = async () => new Response('{"tot');
        const asked = get('status').then(() => 'an answer', (e) => e.message);
        window.fetch = real;
        return asked;
    })""")
    expect(got == 'it does not answer', f'an answer that was cut off is taken for {got}')


def silence_is_said(browser, cell):
    browser.open(cell.url + '/#/apps/kv')
    browser.wait("document.querySelector('#verdict')?.innerText === 'all served'")
    expect(browser.run("document.querySelector('#banner').hidden"), 'no banner while all is well')
    complaints = list(browser.complaints)
    cell.send('shardmanagerd', signal.SIGSTOP)
    browser.wait("document.querySelector('#banner').innerText.startsWith('Not heard since')", 'the banner')
    expect('the answer takes long' in text(browser, '#banner'), 'it does not wait until the answer is given up')
    expect(browser.run("document.querySelector('main').classList.contains('stale')"), 'what is shown is grey')
    cell.send('shardmanagerd', signal.SIGCONT)
    browser.wait("document.querySelector('#banner').hidden && document.querySelector('#verdict') !== null", 'it is heard again')
    browser.complaints[:] = complaints  # of requests that nobody answered


def main():
    with DevCell() as cell:
        cell.apply((SOURCE / 'examples/kvstore/kv.yaml').read_text())
        for i in range(6):
            cell.server(f'kv-{i + 1}', _REGIONS[i % 3])
        browser = Browser()
        try:
            overview_renders(browser, cell)
            shards_filter_and_keys_move(browser, cell)
            links_lead_deep(browser, cell)
            everything_has_a_name(browser)
            dark_is_dark(browser)
            what_if_answers(browser, cell)
            hidden_pages_ask_nothing(browser, cell)
            half_an_answer_is_none(browser)
            silence_is_said(browser, cell)
            expect(browser.complaints == [], 'errors, or what the policy forbids:\n' + '\n'.join(browser.complaints))
            what_people_and_servers_write_stays_text(browser, cell)
            expect(browser.complaints == [], 'errors, or what the policy forbids:\n' + '\n'.join(browser.complaints))
            names_stay_names(browser, cell)  # 404s are logged as errors by the browser
            an_error_goes_with_its_cause(browser, cell)
        finally:
            browser.close()
    print('the console does what it promises')


if __name__ == '__main__':
    sys.exit(main())
