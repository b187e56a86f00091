// What happened, and who changed what, as the process that leads has kept it.
import {ApiError, get} from '/api.js';
import {fill, h, link, section} from '/dom.js';
import {at, moment, number, plural} from '/format.js';

const kPage = 100;
const kInSection = 20;
const kColumns = ['Time', 'Kind', 'Where', 'What happened', 'Who asked'];

// {app: 'kv', shard: 'x'} -> "#/apps/kv/history?shard=x"
export const historyAt = ({app, ...rest}) => app ? at('apps', app, 'history', rest) : at('history', rest);

function time(ms) {
  const utc = new Date(Number(ms)).toISOString();
  return h('time', {datetime: utc, title: utc}, moment(ms));
}

function places(e) {
  const {app, server, shard, operation} = e;
  return [
    app ? link(at('apps', app), app) : server || shard || operation ? null : 'the cell',
    server ? ['server ', app ? link(at('apps', app, 'servers', server), server) : server] : null,
    shard ? ['shard ', app ? link(at('apps', app, 'shards', shard), shard) : shard] : null,
    operation ? ['operation ', link(historyAt({operation}), operation)] : null,  // which may be of several apps
  ].filter((place) => place !== null).map((place) => h('div', {}, place));
}

function differences(e, unfolded) {
  if (e.changes.length === 0) return null;
  return h('details', {open: unfolded}, h('summary', {}, plural(e.changes.length, 'difference')),
    h('ul', {class: 'changes'}, e.changes.map((line) => h('li', {}, line))));
}

function row(e, unfolded) {
  const times = Number(e.count) > 1 ? [`${number(e.count)} times until `, time(e.lastMs), ', last: '] : [];
  return h('tr', {}, [time(e.timeMs), e.kind, places(e), [times, e.message, differences(e, unfolded)], e.by].map((cell) => h('td', {}, cell)));
}

// The newest entries of what is asked for. A row stays the same element as long as it says the same, so
// that what is unfolded, selected or has the focus stays so while others come.
export class HistoryList {
  // `asked`: the parameters of /api/v1/history. `olderAt`: the address of those before this place, if
  // there is to be a link.
  constructor(asked, olderAt = null) {
    this.asked = asked;
    this.olderAt = olderAt;
    this.rows = new Map();  // by what they say
    this.body = h('tbody', {});
    this.table = h('table', {'aria-label': 'History, the newest first', class: 'history', hidden: true},
      h('thead', {}, h('tr', {}, kColumns.map((c) => h('th', {scope: 'col'}, c)))), this.body);
    this.notice = h('div', {});
    this.notes = h('p', {class: 'dim', role: 'status'}, 'asking ...');
    this.older = h('p', {});
    this.element = h('div', {}, this.notice, this.table, this.notes, this.older);
  }

  async refresh(signal) {
    if (this.asked.page_token && this.rows.size > 0) return;  // what is older stays as it is
    try {
      this.show((await get('history', this.asked, signal)).history);
    } catch (error) {
      // Whether anybody answers, and leads, the shell finds out. Else the history alone is amiss.
      if (!(error instanceof ApiError) || error.status < 400) throw error;
      this.show({events: []}, error.status === 404 ? error.message : `The history cannot be read: ${error.message}`);
    }
  }

  show(answer, error = '') {
    const rows = new Map();
    for (const e of [...answer.events].reverse()) {
      const says = JSON.stringify(e);
      rows.set(says, this.rows.get(says) ?? row(e, this.asked.kind === 'changes'));
    }
    this.rows = rows;
    let next = this.body.firstElementChild;
    for (const element of rows.values()) {
      if (element === next) next = next.nextElementSibling;
      else this.body.insertBefore(element, next);
    }
    for (let gone = next; gone !== null; gone = next) {
      next = gone.nextElementSibling;
      gone.remove();
    }
    this.table.hidden = rows.size === 0;
    this.say(answer, error);
  }

  say(answer, error) {
    const said = JSON.stringify([error, answer.problem, answer.process, answer.reachesBackMs, answer.olderPageToken, this.rows.size > 0]);
    if (said === this.said) return;
    this.said = said;
    fill(this.notice, error ? h('p', {class: 'box bad'}, error) : null,
      answer.problem ? h('p', {class: 'box warn'}, `Entries may be missing: ${answer.problem}`) : null);
    fill(this.notes, error ? null : [this.rows.size === 0 ? 'Nothing of this is kept. ' : null, `Kept by ${answer.process}`,
      Number(answer.reachesBackMs) > 0 ? [' since ', time(answer.reachesBackMs), ' (changes that people asked for: perhaps for longer)'] : null, '.',
      this.asked.app ? [' Orders that are of no single app, as drains, are in the ', link(historyAt({...this.asked, app: '', limit: ''}), 'history of the cell', {'data-key': 'cell'}), '.'] : null]);
    fill(this.older, this.olderAt && answer.olderPageToken
      ? link(this.olderAt(answer.olderPageToken), 'Older entries', {'data-key': 'older', id: 'history-older'}) : null);
  }
}

// A section of the page of one app, server or shard: {section, refresh}.
export function historySection(of) {
  const list = new HistoryList({...of, limit: kInSection});
  return {
    section: section('History', list.element, h('p', {}, link(historyAt(of), 'All of it, with filters', {'data-key': 'history'}))),
    refresh: (signal) => list.refresh(signal),
  };
}

export function historyPage(app, query) {
  const of = {kind: query.kind, since: query.since, server: query.server, shard: query.shard, operation: query.operation,
    app: app || query.app};
  let token = query.page_token;
  let list;
  let asking;
  const place = h('div', {});
  const names = h('datalist', {id: 'history-apps'});
  const address = (more = {}) => app ? historyAt({...of, ...more}) : at('history', {...of, ...more});

  function begin() {
    list = new HistoryList({...of, page_token: token, limit: kPage}, (page_token) => address({page_token}));
    fill(place, list.element);
  }
  // With another filter the newest entries come first again.
  async function change(part) {
    Object.assign(of, part);
    token = '';
    history.replaceState(null, '', address());
    fill(tools, filters());
    begin();
    asking?.abort();
    asking = new AbortController();
    try { await list.refresh(asking.signal); } catch { /* the next refresh says so */ }
  }
  const choice = (name, text, options) => h('label', {}, `${text} `,
    h('select', {id: `history-${name}`, 'data-key': name, onchange: (e) => change({[name]: e.target.value})},
      options.map(([value, what]) => h('option', {value, selected: (of[name] ?? '') === value}, what))));
  const appFilter = () => h('label', {}, 'App ', h('input', {type: 'search', id: 'history-app', 'data-key': 'app', list: 'history-apps',
    value: of.app ?? '', placeholder: 'all', autocomplete: 'off', spellcheck: 'false', onchange: (e) => change({app: e.target.value.trim()})}));
  const filters = () => [
    app ? null : appFilter(),
    choice('kind', 'Show', [['', 'all'], ['changes', 'changes that people asked for']]),
    choice('since', 'Since', [['', 'it is kept'], ['day', 'a day ago'], ['hour', 'an hour ago']]),
    ['server', 'shard', 'operation'].filter((name) => of[name]).map((name) =>
      h('button', {'aria-label': `${name} ${of[name]}: show others, too`, onclick: () => change({[name]: ''})}, `${name} ${of[name]} ×`)),
    token ? link(address(), 'Newest entries') : null,
  ];
  const tools = h('div', {class: 'tools', role: 'search'}, filters());
  begin();
  return {
    title: app ? `History of ${app}` : 'History', element: h('div', {}, tools, names, place),
    async refresh(signal) {
      const [answer] = await Promise.all([app ? null : get('apps', {}, signal), list.refresh(signal)]);
      const known = (answer?.apps ?? []).map((a) => a.spec.name);
      if (known.join() !== [...names.children].map((o) => o.value).join()) fill(names, known.map((value) => h('option', {value})));
    },
  };
}
