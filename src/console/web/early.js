// Runs while the other scripts are still on their way: of an app with very many shards the process
// needs a while for its table of them, so it begins now. The answer is for nobody; the page asks itself.

const [kind, app, tab] = location.hash.split('?')[0].replace(/^#\//, '').split('/');
if (kind === 'apps' && tab === 'shards') fetch(`/api/v1/shards?app=${app}&limit=1`).catch(() => {});
