// What would follow from a change that is only imagined.
import {get, post} from '/api.js';
import {fill, h, section, table} from '/dom.js';
import {age, number} from '/format.js';

const change = (before, after) => {
  const d = Math.round(10 * (after - before)) / 10;
  return d === 0 ? '' : d > 0 ? `+${number(d)}` : number(d);
};

function compared(report) {
  const {before, after} = report;
  const rows = [];
  const add = (name, b, a) => rows.push([name, number(b ?? 0), number(a ?? 0), change(b ?? 0, a ?? 0)]);
  add('servers live', before.serversLive, after.serversLive);
  add('shards served', before.shardsServed, after.shardsServed);
  add('shards with too few replicas', before.shardsDegraded, after.shardsDegraded);
  add('replicas serving', before.replicasServing, after.replicasServing);
  for (const now of after.metrics) {
    const was = before.metrics.find((m) => m.metric === now.metric) ?? {};
    add(`${now.metric} of a server: mean`, was.mean, now.mean);
    add(`${now.metric} of a server: most`, was.most, now.most);
    if (now.mostPct > 0) add(`${now.metric} of a server: % of capacity at most`, was.mostPct, now.mostPct);
  }
  for (const now of after.regions) {
    add(`${now.region || 'no region'}: replicas`, before.regions.find((r) => r.region === now.region)?.replicasServing, now.replicasServing);
  }
  return table('Before and after', ['Measure', '#Before', '#After', '#Change'], rows);
}

function result(report) {
  const unserved = report.after.shards - report.after.shardsServed;
  return section('What would follow',
    h('p', {class: unserved > 0 ? 'box bad' : 'box', id: 'what-if-served'},
      unserved > 0 ? `${number(unserved)} of ${number(report.after.shards)} shards would not be served at the end.`
        : `All ${number(report.after.shards)} shards would be served, ${Number(report.servedAfterMs) > 0 ? `after ${age(report.servedAfterMs)} (and the detection of a loss)` : 'without a break but for the detection of a loss'}.`),
    h('p', {}, `${number(report.loadsBegun)} loads of shards, ${number(report.replicasAdded)} replicas elsewhere or new, ${number(report.primariesChanged)} primaries changed; `,
      report.atRest ? `at rest after ${age(report.atRestAfterMs)}.` : 'not at rest after a day.'),
    compared(report),
    report.after.conditions.length > 0 ? h('div', {class: 'box warn'}, h('ul', {}, report.after.conditions.map((c) => h('li', {}, c)))) : null);
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
    fill(answer, h('p', {class: 'dim'}, 'The control plane’s own rules play it; this takes a few seconds ...'));
    try {
      const {report} = await post('whatif', {app}, {[kind.value]: [scopes.get(what.value)], loadFactor: Number(factor.value)});
      fill(answer, result(report));
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
