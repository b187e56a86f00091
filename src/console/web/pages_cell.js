// The whole cell: its apps.
import {get} from '/api.js';
import {fill, h, link, table} from '/dom.js';
import {at, clock, number, plural} from '/format.js';

// Red where a client would be refused, and never green before everything is as wanted.
export function verdict(app) {
  if (app.deleting) return ['being deleted', 'warn'];
  const unserved = app.shards - app.shardsServed;
  if (unserved > 0) return [`${plural(unserved, 'shard')} unserved`, 'bad'];
  if (app.conditions.length > 0 || app.replicasServing < app.replicasWanted) return ['degraded', 'warn'];
  if (app.pause) return ['paused', 'warn'];
  return ['all served', 'good'];
}

export function conditions(app) {
  if (app.conditions.length === 0) return null;
  const unserved = app.shards > app.shardsServed;
  return h('div', {class: `box ${unserved ? 'bad' : 'warn'}`}, h('ul', {}, app.conditions.map((c) => h('li', {}, c))));
}

export function overviewPage() {
  const element = h('div', {}, h('p', {class: 'dim'}, 'asking ...'));
  return {
    title: 'Overview', element,
    async refresh(signal) {
      const {apps, takenMs} = await get('apps', {}, signal);
      fill(element,
        apps.length === 0 ? h('p', {}, 'The cell has no apps yet: `shardctl apply FILE` makes one.') :
          table('Apps', ['App', 'State', '#Shards', '#Served', '#Replicas', '#Servers live', '#Moves', 'Drains'], apps.map((app) => {
            const [text, tone] = verdict(app);
            return [link(at('apps', app.spec.name), app.spec.name), h('span', {class: tone}, text), number(app.shards), number(app.shardsServed),
              `${number(app.replicasServing)} of ${number(app.replicasWanted)}`, `${app.serversLive} of ${app.serversKnown}`,
              number(app.movesInFlight), app.drains.length > 0 ? plural(app.drains.length, 'drain') : ''];
          })),
        apps.filter((app) => app.conditions.length > 0).map((app) => [h('h2', {}, app.spec.name), conditions(app)]),
        h('p', {class: 'dim'}, `as of ${clock(takenMs)}`));
    },
  };
}
