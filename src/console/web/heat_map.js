// Servers by one metric, grouped by fault domain. The number stands in each cell; the colour repeats it.
import {h, link} from '/dom.js';
import {at, number} from '/format.js';

const kSteps = 8;
const kMostNamed = 60;  // more servers: their names are in the titles
const kLive = ['live', 'draining', 'drained'];

// {text, share}: of capacity where there is one, else of the greatest.
function useOf(server, metric, greatest) {
  if (metric === 'replicas') {
    return server.capacity > 0
      ? {text: `${number(server.replicas)}`, share: server.replicas / server.capacity, of: server.capacity}
      : {text: number(server.replicas), share: greatest > 0 ? server.replicas / greatest : 0};
  }
  const use = server.loads.find((l) => l.metric === metric);
  if (use === undefined) return {text: '–', share: 0};
  return use.capacity > 0
    ? {text: `${Math.round(100 * use.used / use.capacity)}%`, share: use.used / use.capacity, of: use.capacity}
    : {text: number(use.used), share: greatest > 0 ? use.used / greatest : 0};
}

export function metricsOf(servers) {
  const names = new Set(['replicas']);
  for (const server of servers) for (const load of server.loads) names.add(load.metric);
  return [...names];
}

function cell(app, server, metric, greatest, named) {
  const {text, share} = useOf(server, metric, greatest);
  const live = kLive.includes(server.state);
  const step = Math.max(0, Math.min(kSteps - 1, Math.floor(share * kSteps)));
  const kind = !live ? 'away' : server.state === 'live' ? `q${step}` : `q${step} leaving`;
  return link(at('apps', app, 'servers', server.server), [named ? `${server.server} ` : '', live ? text : server.state], {
    class: `cell ${kind}`,
    title: `${server.server}: ${server.state}, ${metric} ${text}`,
    'aria-label': `${server.server}, ${server.state}, ${metric} ${text}, ${server.replicas} replicas`,
  });
}

function grouped(items, key) {
  const groups = new Map();
  for (const item of items) {
    const name = key(item) || 'none';
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return [...groups].sort(([a], [b]) => a.localeCompare(b, 'en', {numeric: true}));
}

export function heatMap(app, servers, metric) {
  const amount = (s) => metric === 'replicas' ? s.replicas : s.loads.find((l) => l.metric === metric)?.used ?? 0;
  const greatest = servers.reduce((most, s) => Math.max(most, amount(s)), 0);
  const legend = h('div', {class: 'legend', 'aria-hidden': 'true'}, 'little',
    Array.from({length: kSteps}, (_, i) => h('span', {class: `cell q${i}`}, `${Math.round(100 * i / kSteps)}%`)), 'much',
    h('span', {class: 'cell q2 leaving'}, 'draining'), h('span', {class: 'cell away'}, 'lost'));
  return [legend, grouped(servers, (s) => s.faultDomain?.region).map(([region, inRegion]) => {
    const live = inRegion.filter((s) => kLive.includes(s.state)).length;
    return h('section', {class: 'domain'},
      h('h2', {class: live === 0 ? 'bad' : null}, `${region}: ${live} of ${inRegion.length} servers live, `,
        link(at('apps', app, 'shards', {region}), `${number(inRegion.reduce((n, s) => n + s.replicas, 0))} replicas`)),
      grouped(inRegion, (s) => s.faultDomain?.datacenter).map(([datacenter, inDatacenter]) =>
        grouped(inDatacenter, (s) => s.faultDomain?.rack).map(([rack, inRack]) =>
          h('div', {class: 'rack', role: 'group', 'aria-label': `${region}, ${datacenter}, ${rack}`},
            h('span', {}, `${datacenter} / ${rack}`),
            inRack.map((s) => cell(app, s, metric, greatest, servers.length <= kMostNamed))))));
  })];
}
