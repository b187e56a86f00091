// Numbers, times and addresses as people read them.
const thousands = new Intl.NumberFormat('en', {maximumFractionDigits: 1});
export const number = (n) => thousands.format(Number(n));
export const plural = (n, one) => `${number(n)} ${one}${Number(n) === 1 ? '' : 's'}`;
export const clock = (ms) => new Date(Number(ms)).toLocaleTimeString('en-GB');

// Of another day, perhaps.
export const moment = (ms) => new Date(Number(ms)).toLocaleString('sv-SE');

export function age(ms) {
  const s = Math.max(0, Math.round(Number(ms) / 1000));
  if (s < 100) return `${s} s`;
  if (s < 6000) return `${Math.round(s / 60)} min`;
  return s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} d`;
}

export function domain(d) {
  return [d?.region, d?.datacenter, d?.rack].filter(Boolean).join(' / ') || 'nowhere in particular';
}

export const scope = (s) => s.server ? `server ${s.server}` : domain(s.domain);

// "#/apps/kv/shards/a%2Fb?x=1"
export function at(...parts) {
  const last = parts[parts.length - 1];
  const query = typeof last === 'object' ? parts.pop() : {};
  const given = Object.entries(query).filter(([, v]) => v !== '' && v !== undefined);
  return '#/' + parts.map(encodeURIComponent).join('/') +
    (given.length ? '?' + new URLSearchParams(given) : '');
}

export const tone = (state) => ({
  serving: 'good', live: 'good', degraded: 'warn', draining: 'warn', drained: 'warn',
  unserved: 'bad', lost: 'bad', down: 'bad', failed: 'bad', unreachable: 'bad',
}[state] ?? 'dim');
