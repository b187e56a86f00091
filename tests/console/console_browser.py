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


def history_says_who_asked_and_why(browser, cell):
    browser.open(cell.url + '/#/history?kind=changes')
    browser.wait("document.querySelector('.history tbody tr') !== null", 'the app was made by somebody')
    cell.shardctl('drain', 'server', 'kv-2', '--reason', 'new disks', '--wait')  # so that shards move back to it
    browser.wait("document.querySelector('.history tbody tr').innerText.includes('new disks')", 'the newest is first')
    row = text(browser, '.history tbody tr')
    for part in ('AdminChange', 'server kv-2', 'unknown (insecure)', '+ drains'):
        expect(part in row, f'{part} is said: {row}')
    kinds = browser.run("[...document.querySelectorAll('.history tr td:nth-child(2)')].map((e) => e.innerText)")
    expect(set(kinds) == {'AdminChange'}, f'only changes are shown: {kinds}')

    browser.run("document.querySelector('.history details').open = false; document.querySelector('.history summary').focus()")
    cell.shardctl('undrain', 'server', 'kv-2')
    browser.wait("document.querySelectorAll('.history tbody tr')[1].innerText.includes('new disks')", 'another is the newest')
    expect(browser.run("document.querySelectorAll('.history details')[1].open") is False, 'what was folded up stays so')
    expect(browser.run("document.activeElement === document.querySelectorAll('.history summary')[1]"), 'the focus stays')
    browser.run("document.querySelectorAll('.history tbody tr')[1].querySelector('a[href*=operation]').click()")
    browser.wait("['AdminChange', 'DrainStarted', 'MoveFinished'].every((kind) => document.querySelector('.history').innerText.includes(kind))",
                 'an operation leads to the change and to all that followed')
    browser.run("[...document.querySelectorAll('.history tbody tr')].find((row) => row.innerText.includes('MoveFinished')).querySelector('a[href*=operation]').click()")
    expect(browser.run('location.hash').startswith('#/history?operation='), 'from what followed in one app, too: the change is of none')
    browser.open(cell.url + '/#/apps/kv')
    browser.wait("document.querySelectorAll('.history tbody tr').length === 20", 'the newest of the app')
    browser.open(cell.url + '/#/apps/kv/servers/kv-2')
    browser.wait("document.querySelector('.history').innerText.includes('MoveFinished')", 'the newest of the server')
    browser.run("document.querySelector('main a[data-key=history]').click()")
    browser.wait("document.querySelector('h1').innerText === 'History'", 'and the way to all of it')
    browser.run("(() => { const e = document.querySelector('#history-kind'); e.value = 'changes'; e.dispatchEvent(new Event('change')); })()")
    browser.wait("document.querySelectorAll('.history tbody tr').length === 2", 'drain and undrain of that server')
    expect(browser.run('location.hash') == '#/history?kind=changes&server=kv-2', 'the address says so: ' + browser.run('location.hash'))


def history_is_filtered_and_paged(browser, cell):
    browser.open(cell.url + '/#/history')
    browser.wait("document.querySelectorAll('.history tbody tr').length === 100", 'so many at once')
    last = browser.run("[...document.querySelectorAll('.history tbody time')].pop().dateTime")
    browser.run("document.querySelector('#history-older').focus()")
    browser.press('Enter')
    browser.wait(f"document.querySelector('.history tbody time')?.dateTime <= '{last}'", 'older ones follow')
    expect('page_token=' in browser.run('location.hash'), 'and have an address')
    browser.open('about:blank')
    browser.open(cell.url + '/#/history?since=hour')
    browser.wait("document.querySelector('#history-since').value === 'hour' && document.querySelector('.history tbody tr') !== null")

    def choose(name, value):
        browser.run(f"(() => {{ const e = document.querySelector('#history-{name}'); e.focus(); e.value = '{value}'; e.dispatchEvent(new Event('change')); }})()")
    complaints = list(browser.complaints)
    choose('app', 'nobody')
    browser.wait("document.querySelector('main .box.bad').innerText.includes('of these something is: kv')", 'there is none of that name')
    choose('app', 'kv')
    choose('kind', 'changes')
    browser.wait("document.querySelector('main .box.bad') === null && document.querySelectorAll('.history tbody tr').length === 1", 'apply')
    expect(browser.run('location.hash') == '#/history?kind=changes&since=hour&app=kv', 'the address says what is filtered: ' + browser.run('location.hash'))
    expect(browser.run('document.activeElement.id') == 'history-kind', 'the focus stays in the filter')
    browser.complaints[:] = complaints  # of the app that is not there
    browser.run("document.querySelector('main a[data-key=cell]').click()")
    browser.wait("document.querySelectorAll('.history tbody tr').length === 3", 'apply, drain, undrain')
    everything_has_a_name(browser)


def a_history_that_is_not_there_is_said_so(browser, cell):
    browser.open(cell.url + '/#/apps/kv/servers/kv-2')
    of_shard = "[...document.querySelectorAll('.history a')].map((a) => a.hash).find((hash) => hash.includes('/shards/'))"
    browser.wait(f"document.querySelector('h1').innerText.startsWith('Server ') && {of_shard} !== undefined", 'what happened to its shards')
    shard = browser.run(of_shard)
    browser.open(cell.url + '/' + shard)
    browser.wait("document.querySelector('h1').innerText.startsWith('Shard ') && document.querySelector('.history tbody tr') !== null", 'moves of a shard')

    def answer(status, body):
        browser.run(f"""window.real ??= fetch; window.fetch = (url, ...more) => url.startsWith('/api/v1/history')
            ? Promise.resolve(new Response({body!r}, {{status: {status}}})) : real(url, ...more)""")
    answer(503, '{"error": "sm-1/4711 keeps no history"}')
    browser.wait("document.querySelector('main').innerText.includes('The history cannot be read: sm-1/4711 keeps no history')")
    expect(browser.run("document.querySelector('.history').hidden"), 'what was kept is not shown as if it were current')
    expect(browser.run("document.querySelector('#banner').hidden"), 'all else is current')
    answer(200, '{"history": {"events": [], "problem": "disk full", "process": "sm-1/4711", "reachesBackMs": "0", "olderPageToken": ""}}')
    browser.wait("document.querySelector('main').innerText.includes('Entries may be missing: disk full')")
    expect('Nothing of this is kept' in text(browser), 'and it is empty')
    browser.run('window.fetch = real')
    browser.wait("document.querySelector('.history tbody tr') !== null && !document.querySelector('main').innerText.includes('disk full')")


def the_next_leader_has_the_history(browser, cell):
    url, admin = cell.standby()
    until = time.monotonic() + 30
    while 'new disks' not in cell.shardctl('history', 'changes', admin=admin, check=False):
        expect(time.monotonic() < until, 'the standby follows:\n' + cell.log('standby'))
    browser.open(url + '/#/history?kind=changes')
    browser.wait("document.querySelector('#banner').innerText.startsWith('This process stands by')")
    cell.send('shardmanagerd', signal.SIGSTOP)
    browser.wait("document.querySelector('.history')?.innerText.includes('new disks')", 'what was before')
    cell.send('shardmanagerd', signal.SIGCONT)


def hidden_pages_ask_nothing(browser, cell):
    browser.open(cell.url + '/#/apps/kv')  # which asks for most
    browser.wait("document.querySelector('#verdict') !== null && document.querySelector('.history tbody tr') !== null")
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
            history_says_who_asked_and_why(browser, cell)
            history_is_filtered_and_paged(browser, cell)
            hidden_pages_ask_nothing(browser, cell)
            a_history_that_is_not_there_is_said_so(browser, cell)
            half_an_answer_is_none(browser)
            silence_is_said(browser, cell)
            expect(browser.complaints == [], 'errors, or what the policy forbids:\n' + '\n'.join(browser.complaints))
            what_people_and_servers_write_stays_text(browser, cell)
            expect(browser.complaints == [], 'errors, or what the policy forbids:\n' + '\n'.join(browser.complaints))
            names_stay_names(browser, cell)  # 404s are logged as errors by the browser
            an_error_goes_with_its_cause(browser, cell)
            the_next_leader_has_the_history(browser, cell)
        finally:
            browser.close()
    print('the console does what it promises')


if __name__ == '__main__':
    sys.exit(main())
