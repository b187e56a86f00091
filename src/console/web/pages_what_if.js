// What would follow from a change that is only imagined.
import {get, post} from '/api.js';
import {fill, h, section, table} from '/dom.js';
import {age, number, plural} from '/format.js';

const change = (before, after) => {
  const d = Math.round(10 * (after - before)) / 10;
  return d === 0 ? '' : d > 0 ? `+${number(d)}` : number(d);
};

// All names of both, in the order of the first: a region that is lost has a row, too.
const namesOf = (before, after, key) => [...new Set([...before, ...after].map((one) => one[key]))];

function compared({before, after}) {
  const rows = [];
  const add = (name, b, a) => rows.push([name, number(b ?? 0), number(a ?? 0), change(b ?? 0, a ?? 0)]);
  add('servers live', before.serversLive, after.serversLive);
  add('shards served', before.shardsServed, after.shardsServed);
  add('shards with too few replicas', before.shardsDegraded, after.shardsDegraded);
  add('replicas serving', before.replicasServing, after.replicasServing);
  if (after.preferences > 0) add('shards in the region that they prefer', before.preferencesMet, after.preferencesMet);
  for (const metric of namesOf(before.metrics, after.metrics, 'metric')) {
    const [was = {}, now = {}] = [before, after].map((o) => o.metrics.find((m) => m.metric === metric));
    add(`${metric} of a server: mean`, was.mean, now.mean);
    add(`${metric} of a server: most`, was.most, now.most);
    if (was.mostPct > 0 || now.mostPct > 0) {
      add(`${metric} of a server: % of capacity at most`, was.mostPct, now.mostPct);
      add(`servers above the threshold of ${metric}`, was.serversOver, now.serversOver);
    }
  }
  for (const region of namesOf(before.regions, after.regions, 'region')) {
    const [was = {}, now = {}] = [before, after].map((o) => o.regions.find((r) => r.region === region));
    add(`${region || 'no region'}: servers live`, was.serversLive, now.serversLive);
    add(`${region || 'no region'}: replicas`, was.replicasServing, now.replicasServing);
  }
  return table('Before and after', ['Measure', '#Before', '#After', '#Change'], rows);
}

// A primary that was lost is missed until that is noticed; how long that takes is not in the report.
function whenServed(report, loses) {
  const {before, after} = report;
  const unserved = after.shards - after.shardsServed;
  if (unserved > 0) {
    const already = before.shards - before.shardsServed;
    return `${number(unserved)} of ${number(after.shards)} shards would not be served at the end${already > 0 ? ` (now: ${number(already)})` : ''}.`;
  }
  const when = Number(report.servedAfterMs) > 0 ? `${age(report.servedAfterMs)} after ${loses ? 'the loss is noticed' : 'it begins'}`
    : loses && report.primariesChanged > 0 ? 'as soon as the loss is noticed' : 'without a break';
  return `All ${number(after.shards)} shards would be served, ${when}.`;
}

function whatMoves(report) {
  const moves = report.loadsBegun + report.primariesChanged + report.replicasAdded + report.replicasGone;
  if (moves === 0) return 'Nothing would move.';
  return `${plural(report.loadsBegun, 'load')} of shards, ${plural(report.replicasAdded, 'replica')} elsewhere or new, ` +
    `${report.primariesChanged === 1 ? '1 primary' : `${number(report.primariesChanged)} primaries`} elsewhere; ` +
    (report.atRest ? `at rest after ${age(report.atRestAfterMs)}.` : 'not at rest after a day.') +
    (report.loadsBegunAnyway > 0 ? ` Without the change there would be ${plural(report.loadsBegunAnyway, 'load')} all the same: the app is not at rest.` : '');
}

// `asked`: "lose all of region eu-west".
function result(report, asked, loses) {
  const isBad = report.after.shardsServed < report.after.shards;
  return section(`What would follow if we ${asked}`,
    h('p', {class: isBad ? 'box bad' : 'box', id: 'what-if-served'}, whenServed(report, loses)),
    h('p', {}, whatMoves(report)),
    report.after.conditions.length > 0 ? h('div', {class: 'box warn'}, 'Then the app is not as wanted:',
      h('ul', {}, report.after.conditions.map((c) => h('li', {}, c)))) : null,
    compared(report));
}

function scopesOf(servers) {
  const scopes = new Map();
  for (const {faultDomain: d = {}} of servers) {
    if (d.region) scopes.set(`region ${d.region}`, {domain: {region: d.region}});
    if (d.datacenter) scopes.set(`datacenter ${d.region} / ${d.datacenter}`, {domain: {region: d.region, datacenter: d.datacenter}});
    if (d.rack) scopes.set(`rack ${d.region} / ${d.datacenter} / ${d.rack}`, {domain: {region: d.region, datacenter: d.datacenter, rack: d.rack}});
  }
  for (const s of servers.slice(0, 2000)) scopes.set(`server ${s.server}`, {server: s.server});
  return scopes;
}

export function whatIfPage(app) {
  let scopes = new Map();
  const kind = h('select', {id: 'what-if-kind'}, h('option', {value: 'lose'}, 'lose'), h('option', {value: 'drain'}, 'drain'));
  const what = h('select', {id: 'what-if-scope'});
  const factor = h('input', {id: 'what-if-factor', type: 'number', min: '0.1', max: '1000', step: '0.1', value: '1'});
  const answer = h('div', {'aria-live': 'polite'});
  const button = h('button', {id: 'what-if-ask', onclick: async () => {
    button.disabled = true;
    const asked = `${kind.value} all of ${what.value}${Number(factor.value || 1) === 1 ? '' : `, with loads times ${factor.value}`}`;
    const loses = kind.value === 'lose';
    fill(answer, h('p', {class: 'dim'}, 'The control plane’s own rules play it; this takes a few seconds ...'));
    try {
      const {report} = await post('whatif', {app}, {[kind.value]: [scopes.get(what.value)], loadFactor: Number(factor.value)});
      fill(answer, result(report, asked, loses));
    } catch (error) {
      fill(answer, h('p', {class: 'box bad'}, error.message));
    }
    button.disabled = false;
  }}, 'What would follow?');
  return {
    title: `What if, in ${app}`,
    element: h('div', {}, h('p', {}, 'Nothing is changed: the rules of the control plane play it on a copy.'),
      h('div', {class: 'tools'}, h('label', {}, 'What if we ', kind), h('label', {}, 'all of ', what), h('label', {}, 'with loads times ', factor), button), answer),
    async refresh(signal) {
      const {servers} = await get('servers', {app}, signal);
      scopes = scopesOf(servers.filter((s) => ['live', 'draining', 'drained'].includes(s.state)));
      const names = [...scopes.keys()];
      if (names.join() === [...what.options].map((o) => o.value).join()) return;
      const chosen = what.value;
      what.replaceChildren(...names.map((n) => h('option', {value: n, selected: n === chosen}, n)));
    },
  };
}
