// Elements. Text from the cell comes in as text nodes only, so a name with "<script>" stays a name.

// h('td', {class: 'n'}, 5, h('b', {}, 'x')). Properties that begin with "on" are listeners.
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

// Exchanges what is in `parent`; the focus stays at the element with the same data-key.
export function fill(parent, ...children) {
  const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  parent.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  if (focused === undefined) return;
  for (const element of parent.querySelectorAll('[data-key]')) {
    if (element.dataset.key === focused) return element.focus({preventScroll: true});
  }
}

// table(['SHARD', '#REPLICAS'], [[...cells]]): a column that begins with "#" has numbers.
export function table(caption, columns, rows) {
  const numeric = columns.map((c) => c.startsWith('#'));
  return h('table', {'aria-label': caption},
    h('thead', {}, h('tr', {}, columns.map((c, i) =>
      h('th', {scope: 'col', class: numeric[i] ? 'n' : null}, c.replace('#', ''))))),
    h('tbody', {}, rows.map((row) => h('tr', {}, row.map((cell, i) =>
      h('td', {class: numeric[i] ? 'n' : null}, cell))))));
}

export const link = (href, text, more = {}) => h('a', {href, 'data-key': href, ...more}, text);
export const section = (title, ...content) => h('section', {}, h('h2', {}, title), content);
export const figures = (entries) => h('dl', {class: 'figures'},
  entries.map(([name, value, tone]) => h('div', {}, h('dt', {}, name), h('dd', {class: tone}, value))));
