// The shell around the pages: which page is shown, how fresh it is, and who answers.
import {ApiError, Loop, get} from '/api.js';
import {fill, h, link} from '/dom.js';
import {age, at, clock} from '/format.js';
import {appPage, serversPage, shardsPage} from '/pages_app.js';
import {overviewPage} from '/pages_cell.js';
import {historyPage} from '/pages_history.js';
import {serverPage, shardPage} from '/pages_one.js';
import {whatIfPage} from '/pages_what_if.js';

const main = document.getElementById('main');
const banner = document.getElementById('banner');
const kDoubtMs = 6_000;
let page = null;
let heardAt = Date.now();

// "#/apps/kv/shards/x?filter=y" -> {parts: [...], query: {...}}
function where() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  return {
    parts: path.split('/').filter(Boolean).map((p) => { try { return decodeURIComponent(p); } catch { return p; } }),
    query: Object.fromEntries(new URLSearchParams(query ?? '')),
  };
}

function choose({parts, query}) {
  const [kind, app, tab, name] = parts;
  if (parts.length === 0) return overviewPage();
  if (kind === 'history') return historyPage('', query);
  if (kind === 'apps' && app !== undefined) {
    if (tab === undefined) return appPage(app);
    if (tab === 'shards') return name === undefined ? shardsPage(app, query) : shardPage(app, name);
    if (tab === 'servers') return name === undefined ? serversPage(app, query) : serverPage(app, name, query);
    if (tab === 'history') return historyPage(app, query);
    if (tab === 'what-if') return whatIfPage(app, query);
  }
  return {title: 'No such page', element: h('p', {}, `Nothing is at ${location.hash}.`), refresh: async () => {}};
}

function showTabs({parts}) {
  const tabs = parts[0] === 'apps' && parts[1] !== undefined
    ? [['App', ''], ['Shards', 'shards'], ['Servers', 'servers'], ['History', 'history'], ['What if', 'what-if']]
        .map(([text, tab]) => [text, tab === '' ? at('apps', parts[1]) : at('apps', parts[1], tab), (parts[2] ?? '') === tab])
    : [['Overview', '#/', parts.length === 0], ['History', '#/history', parts[0] === 'history']];
  fill(document.getElementById('tabs'), tabs.map(([text, href, now]) =>
    link(href, text, {'aria-current': now ? 'page' : null})));
}

function open() {
  page?.abort.abort();
  const place = where();
  const abort = new AbortController();
  page = {...choose(place), abort};
  showTabs(place);
  document.title = `${page.title} – Shard Manager`;
  fill(main, h('h1', {}, page.title), page.element);
  if (document.activeElement !== document.body) main.focus({preventScroll: true});
  loop.soon();
}

function say(text) {
  if (banner.textContent !== text) banner.textContent = text;
  banner.hidden = text === '';
  main.classList.toggle('stale', text !== '');
}

function showWho(status) {
  document.getElementById('who').textContent = status.leading
    ? `cell ${status.cell}, led by this process, leader epoch ${status.leaderEpoch}, version ${status.version}`
    : `cell ${status.cell}, this process does not lead, version ${status.version}`;
}

function whyNotLeading(status) {
  if (Number(status.cutOffMs) > 0) {
    return `This process has not heard ZooKeeper for ${age(status.cutOffMs)}: who leads, and where shards are, is unknown here.`;
  }
  return status.leaderEndpoint
    ? `This process stands by. The leader answers shardctl at ${status.leaderEndpoint}; its console is on that machine.`
    : 'No process is known to lead the cell.';
}

// Never shows what may be old as if it were current.
async function work() {
  const shown = page;
  try {
    const next = shown.failed ? {...choose(where()), abort: shown.abort} : shown;
    const refreshed = next.refresh(next.abort.signal);  // beside the question who leads
    refreshed.catch(() => {});                          // it is awaited below, if this process leads
    const {status} = await get('status', {}, shown.abort.signal);
    showWho(status);
    if (!status.leading) {
      heardAt = Date.now();
      fill(main, h('h1', {}, shown.title), h('p', {class: 'dim'}, 'Unknown here: only the leader knows.'));
      say(whyNotLeading(status));
      return true;
    }
    await refreshed;
    if (shown === page) {
      page = next;
      if (!main.contains(next.element)) fill(main, h('h1', {}, next.title), next.element);
      heardAt = Date.now();
      say('');
    }
    return true;
  } catch (error) {
    if (shown !== page || shown?.abort.signal.aborted) return true;  // another page was opened
    if (error instanceof ApiError && error.status >= 400 && error.status < 500) {
      if (!main.contains(shown.element)) fill(main, h('h1', {}, shown.title), shown.element);
      fill(shown.element, h('p', {class: 'box bad'}, error.message));
      shown.failed = true;  // it is made anew when there is something to show
      heardAt = Date.now();
      say('');
      return true;
    }
    const why = error instanceof ApiError ? error.message : String(error);
    if (!(error instanceof ApiError)) console.error(error);
    say(`Not heard since ${clock(heardAt)}: ${why}. What is shown may have changed.`);
    return false;
  }
}

// While an answer is awaited, too, and when the page was hidden for long.
function doubt() {
  if (!document.hidden && banner.hidden && Date.now() - heardAt > kDoubtMs) {
    say(`Not heard since ${clock(heardAt)}: the answer takes long. What is shown may have changed.`);
  }
}

const loop = new Loop(work);
setInterval(doubt, 1_000);
document.addEventListener('visibilitychange', doubt);
window.addEventListener('hashchange', open);
open();
