// One app: what it is like, what happens in it, its shards and its servers.
import {get} from '/api.js';
import {figures, fill, h, link, section, table} from '/dom.js';
import {age, at, clock, domain, number, plural, scope, tone} from '/format.js';
import {heatMap, metricsOf} from '/heat_map.js';
import {conditions, verdict} from '/pages_cell.js';
import {historyAt, historySection} from '/pages_history.js';
import {ShardList} from '/shard_list.js';

function orders(app) {
  return [
    app.pause ? h('p', {class: 'box warn'}, `Paused since ${clock(app.pause.sinceMs)}${app.pause.who ? ` by ${app.pause.who}` : ''}` +
      `${app.pause.reason ? `: ${app.pause.reason}` : ''}. Nothing moves until it is resumed.`) : null,
    app.drains.length > 0 ? section('Drains', table('Drains', ['What', 'Since', 'Reason'],
      app.drains.map((d) => [scope(d.scope), clock(d.sinceMs), d.reason ?? '']))) : null,
    app.pins.length > 0 ? section('Pins', table('Pins', ['Shard', 'Since', 'Reason'],
      app.pins.slice(0, 200).map((p) => [link(at('apps', app.spec.name, 'shards', p.shard), p.shard), clock(p.sinceMs), p.reason ?? '']))) : null,
  ];
}

function rollouts(list) {
  return section('Rollouts', table('Rollouts', ['Rollout', 'Progress', '#Under way', 'Ends', 'Waits for'], list.map((r) => {
    const underWay = r.preparing + r.approved + r.begun;
    const all = r.waiting + underWay + r.finished;
    const ends = Number(r.endsInMs);
    return [`${r.name || 'without a name'} (${r.manager})`,
      [h('progress', {max: Math.max(1, all), value: r.finished, 'aria-label': `${r.finished} of ${all} operations finished`}), ` ${r.finished} of ${all}`],
      underWay, ends < 0 ? 'not known' : ends === 0 ? 'over' : `in ${age(ends)}`,
      r.delays.map((d) => h('div', {}, `${plural(d.operations, 'operation')}: ${d.message}`))];
  })));
}

function operations(app, list, total) {
  return section(`Operations (${number(total)})`, table('Operations', ['Operation', 'Kind', 'Server', 'State', 'For', 'Waits for'], list.slice(0, 200).map((o) => [
    link(historyAt({app, operation: o.id}), o.id), o.kind.replace('OPERATION_KIND_', '').toLowerCase(), link(at('apps', app, 'servers', o.server), o.server),
    o.state, age(o.sinceMs), o.delays.map((d) => h('div', {}, d.message))])));
}

function maintenances(list) {
  return section('Maintenances', table('Maintenances', ['Maintenance', 'What', 'State', '#Replicas left', '#Shards it hits'], list.map((m) => [
    m.maintenance.id, scope(m.maintenance.scope ?? {}), `${m.state}${Number(m.leftMs) > 0 ? `, for ${age(m.leftMs)} more` : ''}`, m.replicasLeft, m.shardsHit])));
}

export function appPage(name) {
  const facts = h('div', {}, h('p', {class: 'dim'}, 'asking ...'));
  const past = historySection({app: name});
  return {
    title: name, element: h('div', {}, facts, past.section),
    async refresh(signal) {
      const [{app, takenMs}, under, moving] = await Promise.all([
        get('app', {app: name}, signal), get('operations', {app: name}, signal),
        get('shards', {app: name, state: 'moving', limit: 50}, signal), past.refresh(signal)]);
      const [text, is] = verdict(app);
      fill(facts,
        h('p', {class: is, id: 'verdict'}, text),
        conditions(app),
        figures([['Shards served', `${number(app.shardsServed)} of ${number(app.shards)}`, app.shardsServed < app.shards ? 'bad' : ''],
          ['Replicas serving', `${number(app.replicasServing)} of ${number(app.replicasWanted)}`, app.replicasServing < app.replicasWanted ? 'warn' : ''],
          ['Servers live', `${app.serversLive} of ${app.serversKnown}`], ['Moves', number(app.movesInFlight)],
          ['Requests/s', app.skew ? number(app.skew.requestsPerS) : 'unknown'],
          ['Map', app.mapVersion ? `${app.mapVersion.leaderEpoch}.${app.mapVersion.sequence}` : 'none']]),
        orders(app),
        under.rollouts.length > 0 ? rollouts(under.rollouts) : null,
        under.operations.length > 0 ? operations(name, under.operations, under.operationsTotal) : null,
        under.maintenances.length > 0 ? maintenances(under.maintenances) : null,
        section(`Shards that move now (${number(moving.total)})`, moving.total === 0 ? h('p', {class: 'dim'}, 'none') :
          table('Shards that move', ['Shard', 'State', 'Replicas'], moving.rows.map(([shard, state,, replicas]) => [
            link(at('apps', name, 'shards', shard), shard), h('span', {class: tone(state)}, state),
            replicas.map(([server, role, s]) => `${server} ${role} ${s}`).join(', ')]))),
        h('p', {class: 'dim'}, `as of ${clock(takenMs)}`));
    },
  };
}

export function shardsPage(app, query) {
  const list = new ShardList(app, {}, query, (now) => history.replaceState(null, '', at('apps', app, 'shards', now)));
  return {title: `Shards of ${app}`, element: list.element, refresh: (signal) => list.reload(false, signal)};
}

export function serversPage(app, query) {
  let metric = query.metric ?? 'replicas';
  let servers = [];
  const choice = h('select', {id: 'metric', onchange: () => {
    metric = choice.value;
    history.replaceState(null, '', at('apps', app, 'servers', {metric}));
    show();
  }});
  const map = h('div', {id: 'heat-map'});
  const list = h('div', {});
  function show() {
    const names = metricsOf(servers);
    if (!names.includes(metric)) names.push(metric);
    if (names.join() !== [...choice.options].map((o) => o.value).join()) {
      choice.replaceChildren(...names.map((n) => h('option', {value: n, selected: n === metric}, n)));
    }
    fill(map, heatMap(app, servers, metric));
    const away = servers.filter((s) => s.state !== 'live');
    fill(list, away.length === 0 ? [] : section('Servers that are not simply live',
      table('Servers', ['Server', 'State', 'Where', '#Replicas', 'Why'], away.slice(0, 500).map((s) => [
        link(at('apps', app, 'servers', s.server), s.server), h('span', {class: tone(s.state)}, s.state), domain(s.faultDomain), s.replicas, s.reason]))));
  }
  return {
    title: `Servers of ${app}`, element: h('div', {}, h('div', {class: 'tools'}, h('label', {}, 'Metric ', choice)), map, list),
    async refresh(signal) {
      servers = (await get('servers', {app}, signal)).servers;
      show();
    },
  };
}
