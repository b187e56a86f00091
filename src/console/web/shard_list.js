// The shards of an app: as many as there are, of which only those in view are elements and only some
// pages are kept.
import {get} from '/api.js';
import {h, link} from '/dom.js';
import {at, number, tone} from '/format.js';

const kRowPx = 30;
const kPage = 100;
const kMostPages = 12;
const kColumns = ['Shard', 'State', 'Replicas', 'Requests/s', 'Why'];

// For scripts/bench console: when rows were painted.
function markPainted(name) {
  requestAnimationFrame(() => setTimeout(() => {
    performance.clearMarks(name);
    performance.mark(name);
  }));
}

export class ShardList {
  // `fixed`: {server}. `query`: what is typed and chosen. `changed`: called with the new query.
  constructor(app, fixed, query, changed) {
    this.app = app;
    this.fixed = fixed;
    this.query = {filter: query.filter ?? '', state: query.state ?? '', sort: query.sort ?? '', region: query.region ?? ''};
    this.changed = changed;
    this.pages = new Map();
    this.total = 0;
    this.active = 0;
    this.loading = new Set();
    this.shownRows = new Map();
    this.space = h('div', {class: 'space', role: 'rowgroup'});
    this.view = h('div', {class: 'view', role: 'rowgroup', 'data-key': 'grid', onscroll: () => this.render()}, this.space);
    this.grid = h('div', {class: 'grid', role: 'grid', tabindex: 0, id: 'shard-grid', 'aria-label': `Shards of ${app}`,
      'aria-colcount': kColumns.length, onkeydown: (e) => this.onKey(e)},
      h('div', {class: 'head', role: 'row', 'aria-rowindex': 1}, kColumns.map((c) => h('span', {role: 'columnheader', class: c === 'Requests/s' ? 'n' : null}, c))),
      this.view);
    this.said = h('span', {role: 'status', 'aria-live': 'polite', id: 'shard-count'}, 'asking ...');
    this.element = h('div', {}, this.tools(), this.grid,
      h('p', {class: 'dim'}, 'Arrow keys, Page Up and Down, Home and End move in the list; Enter opens a shard; / goes to the filter.'));
    new ResizeObserver(() => this.render()).observe(this.view);
    this.element.addEventListener('keydown', (e) => {
      if (e.key === '/' && e.target !== this.filter) { e.preventDefault(); this.filter.focus(); }
    });
  }

  tools() {
    this.filter = h('input', {type: 'search', id: 'shard-filter', value: this.query.filter, placeholder: 'part of a name',
      autocomplete: 'off', spellcheck: 'false', oninput: () => {
        performance.clearMarks('filter-input');
        performance.mark('filter-input');
        this.change({filter: this.filter.value});
      },
      onkeydown: (e) => { if (e.key === 'ArrowDown') { e.preventDefault(); this.grid.focus(); } }});
    const choice = (id, name, options) => h('label', {}, `${name} `, h('select', {id, onchange: (e) => this.change({[id.slice(6)]: e.target.value})},
      options.map(([value, text]) => h('option', {value, selected: this.query[id.slice(6)] === value}, text))));
    return h('div', {class: 'tools', role: 'search'},
      h('label', {}, 'Filter ', this.filter),
      choice('shard-state', 'State', [['', 'all'], ['unserved', 'unserved'], ['degraded', 'degraded'], ['moving', 'moving'], ['serving', 'serving']]),
      choice('shard-sort', 'Order', [['', 'as in the map'], ['state', 'worst first'], ['requests', 'most requests first'], ['name', 'by name']]),
      this.query.region ? h('button', {onclick: () => this.change({region: ''})}, `in ${this.query.region} ×`) : null,
      this.said);
  }

  change(part) {
    Object.assign(this.query, part);
    this.changed?.(this.query);
    this.active = 0;
    this.reload(true);
  }

  ask(page, signal) {
    return get('shards', {app: this.app, ...this.fixed, ...this.query, offset: page * kPage, limit: kPage}, signal);
  }

  // What is in view, anew. `top`: from the first row on.
  async reload(top = false, outer = undefined) {
    this.asked?.abort();
    const asked = this.asked = new AbortController();
    outer?.addEventListener('abort', () => asked.abort(), {once: true});
    if (top) this.view.scrollTop = 0;
    const [first, last] = this.inView();
    const wanted = new Set([Math.floor(first / kPage), Math.floor(Math.max(first, last - 1) / kPage)]);
    try {
      const answers = await Promise.all([...wanted].map((page) => this.ask(page, asked.signal)));
      this.pages.clear();
      this.loading.clear();
      answers.forEach((answer) => this.take(answer));
      this.render();
      markPainted(top ? 'filter-painted' : 'list-painted');
    } catch (error) {
      if (!asked.signal.aborted) {
        if (!top) throw error;
        this.said.textContent = error.message;
      } else if (outer?.aborted) {
        throw error;
      }
    }
  }

  take(answer) {
    this.pages.set(answer.offset / kPage, answer.rows);
    while (this.pages.size > kMostPages) this.pages.delete(this.pages.keys().next().value);
    this.total = answer.total;
    this.takenMs = answer.takenMs;
    const {unserved = 0, degraded = 0, moving = 0} = answer.counts;
    const text = `${number(answer.total)} of ${number(answer.all)} shards` +
      ` (in all ${number(unserved)} unserved, ${number(degraded)} degraded, ${number(moving)} moving)`;
    if (this.said.textContent !== text) this.said.textContent = text;
    this.said.className = unserved > 0 ? 'bad' : degraded > 0 ? 'warn' : '';
    this.space.style.height = `${this.total * kRowPx}px`;
    this.grid.setAttribute('aria-rowcount', this.total + 1);
  }

  inView() {
    const first = Math.max(0, Math.floor(this.view.scrollTop / kRowPx));
    return [first, Math.min(Math.max(this.total, 1), first + Math.ceil((this.view.clientHeight || 600) / kRowPx) + 1)];
  }

  render() {
    const [first, last] = this.inView();
    const rows = [];
    for (let i = Math.max(0, first - 5); i < Math.min(this.total, last + 5); ++i) {
      const page = Math.floor(i / kPage);
      const row = this.pages.get(page)?.[i % kPage];
      if (!this.pages.has(page)) this.fetchPage(page);
      rows.push(this.row(i, row));
    }
    this.space.replaceChildren(...rows);
    this.grid.setAttribute('aria-activedescendant', this.total > 0 ? `shard-row-${this.active}` : '');
  }

  row(i, row) {
    const [name, state, why, replicas, requests, marks] = row ?? ['…', '', '', [], 0, ''];
    const said = replicas.map(([server, role, is]) =>
      `${server}${role ? ` ${role}` : ''}${is === 'serving' ? '' : ` (${is})`}`).join(', ');
    const more = [...marks].map((m) => ({P: ' pinned', H: ' hot', R: ' to be replaced'}[m])).join(',');
    const element = h('div', {class: 'row', role: 'row', id: `shard-row-${i}`, 'aria-rowindex': i + 2,
      'aria-selected': i === this.active ? 'true' : 'false', onclick: () => { this.active = i; this.render(); }},
      h('span', {role: 'gridcell'}, row ? link(at('apps', this.app, 'shards', name), name, {tabindex: -1, title: name}) : name, more),
      h('span', {role: 'gridcell', class: tone(state)}, state),
      h('span', {role: 'gridcell', title: said}, said),
      h('span', {role: 'gridcell', class: 'n'}, requests > 0 ? number(requests) : ''),
      h('span', {role: 'gridcell', title: why}, why));
    element.style.top = `${i * kRowPx}px`;  // by script: the page's policy allows no style attributes
    return element;
  }

  async fetchPage(page) {
    if (this.loading.has(page) || this.loading.size > 4) return;
    this.loading.add(page);
    try {
      this.take(await this.ask(page, this.asked?.signal));
      this.render();
    } catch { /* the next refresh says so */ } finally {
      this.loading.delete(page);
    }
  }

  onKey(event) {
    const screen = Math.max(1, Math.floor(this.view.clientHeight / kRowPx) - 1);
    const to = {ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + screen,
      PageUp: this.active - screen, Home: 0, End: this.total - 1}[event.key];
    if (to !== undefined) {
      event.preventDefault();
      this.active = Math.max(0, Math.min(this.total - 1, to));
      const y = this.active * kRowPx;
      if (y < this.view.scrollTop) this.view.scrollTop = y;
      if (y + kRowPx > this.view.scrollTop + this.view.clientHeight) this.view.scrollTop = y + kRowPx - this.view.clientHeight;
      this.render();
    } else if (event.key === 'Enter') {
      document.querySelector(`#shard-row-${this.active} a`)?.click();
    }
  }
}
