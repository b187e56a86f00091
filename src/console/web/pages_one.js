// One server, one shard.
import {get} from '/api.js';
import {figures, fill, h, link, section, table} from '/dom.js';
import {at, domain, number, tone} from '/format.js';
import {historySection} from '/pages_history.js';
import {ShardList} from '/shard_list.js';

const use = (l) => l.capacity > 0 ? `${number(l.used)} of ${number(l.capacity)}` : number(l.used);
const loads = (list) => (list ?? []).map((l) => `${l.metric} ${use(l)}`).join(', ');
const role = (r) => ({PRIMARY: 'primary', SECONDARY: 'secondary'}[r] ?? '');

export function serverPage(app, name, query) {
  const facts = h('div', {}, h('p', {class: 'dim'}, 'asking ...'));
  const past = historySection({server: name});  // a drain is of no app
  const list = new ShardList(app, {server: name}, query, null);
  return {
    title: `Server ${name} of ${app}`,
    element: h('div', {}, facts, section('Its shards', list.element), past.section),
    async refresh(signal) {
      const [{servers}] = await Promise.all([get('servers', {app}, signal), past.refresh(signal), list.reload(false, signal)]);
      const server = servers.find((s) => s.server === name);
      fill(facts, server === undefined ? h('p', {class: 'box bad'}, `No server ${name} is known.`) : [
        figures([['State', server.state, tone(server.state)], ['Replicas serving', `${server.replicasServing} of ${server.replicas}`],
          ...server.loads.map((l) => [l.metric, use(l)])]),
        server.reason ? h('p', {class: 'box warn'}, server.reason) : null,
        h('p', {class: 'dim'}, `${domain(server.faultDomain)}; ${server.endpoint}; incarnation ${server.incarnation}; process ${server.process}`)]);
    },
  };
}

const argumentsOf = (list) => (list ?? []).map((a) => h('div', {}, `${a.goal}: ${a.rule} ${number(a.cost)}`));

function candidates(app, e) {
  return section('Where it could be, the best first', table('Candidates', ['Server', 'Where', 'Verdict', 'What decides', 'It carries'], e.candidates.map((c) => [
    link(at('apps', app, 'servers', c.server), c.server), domain(c.faultDomain), c.verdict, c.reason, loads(c.loads)])),
    h('p', {class: 'dim'}, `${e.serversConsidered} servers were looked at. `, e.refused.map((r) => `${r.rule} rules out ${r.servers}. `), e.balance));
}

export function shardPage(app, name) {
  const facts = h('div', {}, h('p', {class: 'dim'}, 'asking ...'));
  const past = historySection({app, shard: name});
  return {
    title: `Shard ${name} of ${app}`, element: h('div', {}, facts, past.section),
    async refresh(signal) {
      const [{explained: e}] = await Promise.all([get('shard', {app, shard: name}, signal), past.refresh(signal)]);
      const {shard} = e;
      const why = new Map(e.replicas.map((r) => [r.server, r]));
      fill(facts,
        figures([['State', shard.state, tone(shard.state)], ['Replicas', `${shard.replicas.length} of ${e.replicasWanted}`],
          ['Requests/s', shard.traffic ? number(shard.traffic.requestsPerS) : 'unknown'],
          ['Preferred region', shard.preferredRegion ? `${shard.preferredRegion}${shard.preferenceMet ? '' : ' (not met)'}` : 'any']]),
        shard.reason ? h('p', {class: `box ${tone(shard.state)}`}, shard.reason) : null,
        shard.pin ? h('p', {class: 'box warn'}, `Pinned${shard.pin.reason ? `: ${shard.pin.reason}` : ''}`) : null,
        section('What it waits for', e.waits.length === 0 ? h('p', {class: 'dim'}, 'nothing') :
          table('Waits', ['Reason', 'What', 'Server'], e.waits.map((w) => [w.reason, w.message, w.server]))),
        section('Replicas', table('Replicas', ['Server', 'Role', 'State', '#Epoch', 'Why not', 'What speaks against it there'], shard.replicas.map((r) => [
          link(at('apps', app, 'servers', r.server), r.server), h('b', {}, role(r.role)), h('span', {class: tone(r.state)}, r.state),
          r.epoch, r.reason, argumentsOf(why.get(r.server)?.arguments)]))),
        candidates(app, e));
    },
  };
}
